// tallystick verify and bundle over a database: while the service serves from it, and by somebody who may do nothing else.

import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { raw } from '../../../server/src/testing/postgres-nodes.ts';
import { type PostgresServer, startPostgres } from '../../../server/src/testing/postgres-server.ts';
import { emptyPlace, type Place } from '../testing/place.ts';
import { type RunningLog, startLog } from '../testing/running-log.ts';

const OPERATOR = 'operator:hunter2';
const AUDITOR = 'auditor:hunter3';

let server: PostgresServer;
let place: Place;
let url: string;
let log: RunningLog;
let env: { readonly Storage__Url: string };

before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  await raw(server.url(), "CREATE ROLE operator LOGIN PASSWORD 'hunter2'");
  await raw(server.url(), "CREATE ROLE auditor LOGIN PASSWORD 'hunter3'");
  env = { Storage__Url: as(OPERATOR) };
  place = emptyPlace();
  const made = await place.run(['migrate'], { ...env, Storage__OwnerUrl: url });
  assert.equal(made.code, 0, made.stderr);
  await raw(server.url(), 'GRANT tallystick_verifier TO auditor');
  log = await startLog({ ...place, env: { ...place.env, ...env, Environment: 'Test' } });
  await log.send(20);
  await log.seal();
  await log.send(30);
});
after(async () => {
  await log?.[Symbol.asyncDispose]();
  place?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
});

function as(user: string): string {
  return url.replace('postgres@', `${user}@`);
}

function verify(...words: string[]) {
  return place.run(['verify', ...words], env);
}

/** The log's public key, and the anchor as it is now, which the auditor has from elsewhere. */
async function handedOver(): Promise<{ readonly key: string; readonly anchor: string }> {
  const [key, anchor] = [join(place.folder, 'key'), join(place.folder, 'anchor-copy')];
  writeFileSync(key, await log.get('log/t/acme/key'));
  mkdirSync(anchor, { recursive: true });
  for (const name of readdirSync(place.data).filter((each) => each.startsWith('anchor-')))
    copyFileSync(join(place.data, name), join(anchor, name));
  return { key, anchor };
}

describe('tallystick verify, with a database', () => {
  it('verifies it by the data directory that belongs to it, while the service serves', async () => {
    const { code, stdout, stderr } = await verify(place.data, '--verbose');
    assert.equal(code, 0, stdout + stderr);
    assert.match(
      stdout,
      /^verified {2}postgres:\/\/127\.0\.0\.1:\d+\/test_1\n {2}entries +5\d of 1 tenant and the installation: 5\d with/,
    );
    assert.match(stdout, /no part +of the evidence, and not looked at: .*api_keys.*index_blocks/);
    assert.doesNotMatch(stdout + stderr, /hunter2/);
  });

  it('answers JSON for programs, and of one tenant alone', async () => {
    const { stdout } = await verify(place.data, '--json', '--tenant', 'acme');
    const report = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual(
      [report['verified'], report['kind'], report['faults'], report['directory']],
      [true, 'Store', [], undefined],
    );
    assert.match(String(report['database']), /^postgres:\/\/127/);
    const unknown = await verify(place.data, '--tenant', 'nobody');
    assert.deepEqual([unknown.code, unknown.stderr], [2, 'tallystick: there is no tenant nobody\n']);
  });

  it('verifies it by its URL, for a user who may read evidence and nothing else', async () => {
    const { key, anchor } = await handedOver();
    const { code, stdout, stderr } = await verify(as(AUDITOR), '--key', key, '--anchor', anchor);
    // What was signed since the anchor was copied is not in it.
    assert.ok(code === 0 || /HISTORY_UNPROVEN/.test(stdout), stdout + stderr);
    const denied = (sql: string) =>
      assert.rejects(raw(as(AUDITOR), sql), /permission denied/, `may not: ${sql}`);
    await denied('SELECT * FROM api_keys');
    await denied('SELECT fingerprint_key FROM tenants');
    await denied("UPDATE checkpoints SET note = ''");
    await denied('DELETE FROM contents');
  });

  it('says what it needs for a URL, and shows no password', async () => {
    const bare = await verify(as(AUDITOR));
    assert.equal(bare.code, 2);
    assert.match(
      bare.stderr,
      /^tallystick: a database is verified by --key and --anchor, or with its data directory/,
    );
    const { key, anchor } = await handedOver();
    const stranger = await verify(as('operators:hunter2'), '--key', key, '--anchor', anchor);
    assert.equal(stranger.code, 2);
    assert.match(stranger.stderr, /^tallystick: cannot connect to the database of the command line: /);
    const mere = url.replace('postgres@', 'mere:hunter2@');
    await raw(server.url(), "CREATE ROLE mere LOGIN PASSWORD 'hunter2'");
    const denied = await verify(mere, '--key', key, '--anchor', anchor);
    assert.match(denied.stderr, /may not take on the role tallystick_verifier/);
    for (const { stdout, stderr } of [bare, stranger, denied]) assert.doesNotMatch(stdout + stderr, /hunter/);
  });

  it('exits with 1 and names tenant, index and reason when it does not verify', async () => {
    await raw(url, "UPDATE contents SET text1 = decode('7b7d', 'hex') WHERE leaf_index = 7");
    try {
      const { code, stdout } = await verify(place.data);
      assert.equal(code, 1);
      assert.match(stdout, /^NOT verified {2}postgres:.*\n {2}fault +acme: LEAF_MISMATCH at index 7\n/);
    } finally {
      await raw(url, 'DELETE FROM contents WHERE leaf_index = 7');
    }
  });
});

describe('tallystick bundle, with a database', () => {
  it('makes a bundle that verifies, of all of it and of a part', async () => {
    const out = join(place.folder, 'part.jsonl');
    const words = ['bundle', '--tenant', 'acme', '--checkpoint-wait', '--out', out];
    const made = await place.run([...words, '--from', '10', '--to', '40'], env);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /events +sequence 10 to 40 of the tenant: index 9 to 39 of a log of \d+\n/);
    const { key } = await handedOver();
    const verified = await verify(out, '--key', key);
    assert.equal(verified.code, 0, verified.stdout);
    assert.equal(readFileSync(out, 'utf8').trim().split('\n').length, 33);
  });

  it('makes none of data that does not verify', async () => {
    const other = join(place.folder, 'whole.jsonl');
    const { code, stderr } = await place.run(['bundle', '--tenant', 'acme', '--out', other], env);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^tallystick: the data of acme gives no bundle: .*8 |^tallystick: the data of acme gives no bundle/,
    );
  });
});
