import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { type PostgresServer, startPostgres } from '../../../server/src/testing/postgres-server.ts';
import { run, type Running, start } from '../testing/command.ts';
import { emptyPlace, type Place } from '../testing/place.ts';
import { startLog } from '../testing/running-log.ts';

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

/** A service was killed here: the log of acme has a sealed stream, and one entry more. */
async function placeWithLog(): Promise<Place> {
  const place = emptyPlace();
  await using log = await startLog(place);
  await log.send(3);
  await log.seal();
  await log.send(1);
  return place;
}

/** What a service on a database needs in Production. */
const beside = ({ data }: Place) => ({ Log__Anchor: data, Encryption__Keyring: join(data, 'keyring.json') });

/** Adding a checkpoint waits for as long as this connection lasts. */
const HELD_CHECKPOINTS = `SELECT pg_advisory_lock(42);
  CREATE FUNCTION tallystick.hold() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END';
  CREATE TRIGGER hold BEFORE INSERT ON tallystick.checkpoints EXECUTE FUNCTION tallystick.hold()`;

/** Waits until somebody waits for a lock in the database; throws where the one who should has ended. */
async function somebodyWaits(client: Client, { child, ended }: Running): Promise<void> {
  const waiting =
    "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  while ((await client.query(waiting)).rows.length === 0) {
    if (child.exitCode !== null) throw new Error((await ended).stderr);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('tallystick copy', () => {
  it('moves a log into a database, where the service goes on', async () => {
    using place = await placeWithLog();
    const url = await server.createDatabase();
    const to = url.replace('postgres@', 'postgres:hunter2@');
    const copied = await run(['copy', '--from', place.data, '--to', to]);
    assert.deepEqual([copied.code, copied.stderr], [0, '']);
    assert.doesNotMatch(copied.stdout, /hunter2/);
    const [title, ...rows] = copied.stdout.split('\n');
    assert.equal(title, `copied  ${place.data} to ${url.replace('postgres@', '')}`);
    assert.match(
      rows.join('\n'),
      /^ {2}same {7}\S+\/t\/acme: 5 entries, root [0-9a-f]{64} at size 5, on both sides$/m,
    );
    const verified = await place.run(['verify', place.data], { Storage__Url: url });
    assert.equal(verified.code, 0, verified.stdout);
    assert.match(verified.stdout, /^verified {2}postgres:/);
    const old = await place.run(['serve'], { Server__Port: '0' });
    assert.equal(old.code, 1);
    assert.match(
      old.stderr,
      /^tallystick: the data of \S+ has moved to postgres:\/\/127.* remove \S+moved\.json\n$/,
    );
    const listed = await place.run(['keys', 'list']);
    assert.deepEqual([listed.code, listed.stderr], [1, old.stderr]);
    const again = await place.run(['copy'], { Storage__Url: url });
    assert.deepEqual([again.code, again.stderr], [0, '']);
    assert.match(again.stdout, /^postgres:\S+ has had all of \S+ before: nothing was changed\n$/);
    const moved = { ...place, env: { ...place.env, Storage__Url: url, ...beside(place) } };
    await using log = await startLog(moved);
    assert.equal(await log.send(2), 7);
  });

  it('goes on where it was killed, and until then nobody serves the database', async () => {
    using place = await placeWithLog();
    const Storage__Url = await server.createDatabase();
    const env = { ...place.env, Storage__Url, ...beside(place) };
    assert.equal((await run(['migrate'], { env })).code, 0);
    const holding = new Client({ connectionString: Storage__Url });
    await holding.connect();
    try {
      // Entries and contents come before them.
      await holding.query(HELD_CHECKPOINTS);
      await using copying = start(['copy'], { env });
      await somebodyWaits(holding, copying);
      copying.child.kill('SIGKILL');
      assert.equal((await copying.ended).signal, 'SIGKILL');
      await holding.query('DROP FUNCTION tallystick.hold CASCADE');
    } finally {
      await holding.end();
    }
    const served = await run(['serve'], { env: { ...env, Server__Port: '0' } });
    assert.equal(served.code, 1);
    assert.match(served.stderr, /^tallystick: the database holds a part of a copy, and is not served: .*\n$/);
    const left = await place.run(['serve'], { Server__Port: '0' });
    assert.match(left.stderr, /is being copied to .*, and the copy was not finished: run `tallystick copy`/);
    const again = await run(['copy'], { env });
    assert.deepEqual([again.code, again.stderr], [0, '']);
    assert.match(again.stdout, /t\/acme: 5 entries, root/);
  });

  it('says what is missing on the command line, and never a password', async () => {
    using place = emptyPlace();
    const to = (await server.createDatabase()).replace('postgres@', 'postgres:hunter2@');
    const cases: [string[], number, RegExp][] = [
      [['--to', to], 2, /^tallystick: there is no data in \S+: name a data directory by --from\n$/],
      [[], 2, /^tallystick: name the database to copy to by --to or Storage__Url\n$/],
      [['--to', to.replace('postgres:', 'mysql:')], 2, /^tallystick: Storage__Url: .* starts with postgres:/],
    ];
    for (const [args, code, message] of cases) {
      const ended = await place.run(['copy', ...args]);
      assert.deepEqual([ended.code, ended.stdout], [code, '']);
      assert.match(ended.stderr, message);
      assert.doesNotMatch(ended.stderr, /hunter2/);
    }
  });
});
