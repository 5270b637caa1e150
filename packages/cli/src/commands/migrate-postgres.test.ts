import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { type PostgresServer, startPostgres } from '../../../server/src/testing/postgres-server.ts';
import { start } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

describe('tallystick migrate, with a database', () => {
  it('makes the tables and says what it did, and then that there is nothing to do', async () => {
    using place = emptyPlace();
    const url = await server.createDatabase();
    const shown = url.replace('postgres@', '');
    const env = { Storage__Url: url.replace('postgres@', 'postgres:hunter2@') };
    const first = await place.run(['migrate'], env);
    assert.deepEqual([first.code, first.stderr], [0, '']);
    const [line, ...more] = first.stdout.split('\n');
    assert.match(
      line!,
      /^postgres:\/\/127\.0\.0\.1:\d+\/test_\d+ is brought from schema version 0 to [1-9]\d*$/,
    );
    assert.ok(line!.startsWith(`${shown} `));
    assert.deepEqual(more, ['the user postgres may serve it', '']);
    const again = await place.run(['migrate'], { ...env, Storage__OwnerUrl: url });
    assert.deepEqual([again.code, again.stderr], [0, '']);
    assert.match(again.stdout, /has schema version [1-9]\d* already\nthe user postgres may serve it\n$/);
  });

  it('what cannot be done is one line without a password', async () => {
    using place = emptyPlace();
    const Storage__Url = (await server.createDatabase()).replace('postgres@', 'nobody:hunter2@');
    const { code, stdout, stderr } = await place.run(['migrate'], { Storage__Url });
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(
      stderr,
      'tallystick: cannot connect to the database of Storage__Url: role "nobody" does not exist\n',
    );
  });

  it('what is no URL of PostgreSQL is one line, and exit code 2', async () => {
    using place = emptyPlace();
    for (const Storage__Url of ['mysql://u:hunter2@db/audit', 'hunter2', 'postgres:///audit']) {
      const { code, stderr } = await place.run(['migrate'], { Storage__Url });
      assert.equal(code, 2);
      assert.match(stderr, /^tallystick: Storage__Url: .* a URL that starts with postgres:\/\/ or .*\n$/);
      assert.doesNotMatch(stderr, /hunter2|audit/);
    }
  });

  it('where no service has served from there are no keys, and nothing to make a bundle of', async () => {
    using place = emptyPlace();
    const env = { Storage__Url: await server.createDatabase() };
    for (const words of [
      ['keys', 'list'],
      ['bundle', '--tenant', 'acme'],
    ]) {
      const { code, stderr } = await place.run(words, env);
      assert.equal(code, 2);
      assert.match(stderr, /^tallystick: there is no data in /);
    }
  });
});

/** Without a place of its own for the anchor. */
const SERVED = { Server__Port: '0', Environment: 'Test' };

describe('tallystick serve, with a database', () => {
  it('says where that is, and no password', async () => {
    const url = await server.createDatabase();
    const Storage__Url = url.replace('postgres@', 'postgres:hunter2@');
    await using service = start(['serve'], { env: { ...SERVED, Storage__Url } });
    const shown = url.replace('postgres@', '');
    const [said] = await service.prints(/is ready[^]*Send an event/);
    assert.ok(said.includes(`\n  database ${shown}\n`), said);
    assert.doesNotMatch(said, /hunter2/);
  });

  it('stops when it is told to, also while it waits for a database that has no room', async () => {
    await using narrow = await startPostgres({
      max_connections: '4',
      max_wal_senders: '0',
      superuser_reserved_connections: '0',
      reserved_connections: '0',
    });
    const crowd: Client[] = [];
    try {
      for (;;) {
        const client = new Client({ connectionString: narrow.url() });
        await client.connect();
        crowd.push(client);
      }
    } catch (error) {
      assert.match(String(error), /too many clients/);
    }
    await using service = start(['serve'], { env: { ...SERVED, Storage__Url: narrow.url() } });
    let said = '';
    for await (const chunk of service.child.stderr!) {
      said += String(chunk);
      if (said.includes('the database is busy')) break;
    }
    service.child.kill('SIGTERM');
    const { code, stdout } = await service.ended;
    assert.deepEqual([code, stdout], [0, '']);
    await Promise.all(crowd.map((client) => client.end()));
  });
});
