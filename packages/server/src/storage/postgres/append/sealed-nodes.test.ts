// Two nodes on one database with one keyring.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CLASSIFICATIONS } from '@tallystick/contract';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { raw } from '../../../testing/postgres-nodes.ts';
import { type PostgresServer, startPostgres } from '../../../testing/postgres-server.ts';
import { sealingBy, testRing } from '../../../testing/sealed-store.ts';
import { append, draftOf, NOW_MS, request, soundContent, STREAMS } from '../../conformance/claims.ts';
import { changeKeyring } from '../../sealing/destroy-keys.ts';
import { FILE_PROVIDER, newRingKey } from '../../sealing/keyring-file.ts';
import { KEYRING_FILE, openKeyring } from '../../sealing/open-keyring.ts';
import type { RingData } from '../../sealing/keyring.ts';
import { type OpenSealing, sealedBits } from '../../sealing/sealing.ts';
import type { Storage } from '../../storage.ts';
import { openPostgresStorage } from '../postgres-storage.ts';

const CANARY = 'Kanarienvogel';

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

function open(url: string, openSealing: OpenSealing): Promise<Storage> {
  return openPostgresStorage({
    url,
    logOrigin: 'audit.example.com',
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
    openSealing,
  });
}

const some = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    draftOf({ payload: { note: `${CANARY} ${i}` } }, { retention: 'P7Y' }),
  );

interface TwoNodes extends AsyncDisposable {
  readonly url: string;
  readonly ring: RingData;
  readonly one: Storage;
  readonly other: Storage;
}

async function twoNodes(): Promise<TwoNodes> {
  const url = await server.createDatabase();
  const ring = testRing();
  const stack = new AsyncDisposableStack();
  const one = stack.use(await open(url, sealingBy(ring)));
  const other = stack.use(await open(url, sealingBy(ring)));
  await one.tenants.ensure('acme', NOW_MS);
  return { url, ring, one, other, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const readBy = async (node: Storage) =>
  (await node.log.forTenant('acme').events(0, 1000, 1000)).map((event) => soundContent(event).texts[1]);

test('each node reads what the other one has sealed, and no nonce is used twice', async () => {
  await using nodes = await twoNodes();
  const { one, other, ring, url } = nodes;
  for (let i = 0; i < 9; i++)
    await Promise.all([one, other].map((node) => append(node, request('acme', some(2)))));
  assert.deepEqual(await readBy(one), await readBy(other));
  // As a restore does, and an attacker who wants two texts under one nonce.
  await raw(url, 'UPDATE tenant_keys SET blocks = 0');
  await using later = await open(url, sealingBy(ring));
  await append(later, request('acme', some(4)));
  const rows = await raw(
    url,
    `SELECT key_id, encode(substring(text1 for 12), 'hex') AS nonce,
       position(convert_to('${CANARY}', 'UTF8') in text1) AS at FROM contents`,
  );
  assert.equal(rows.length, 40);
  assert.equal(new Set(rows.map(({ nonce }) => nonce)).size, 40);
  assert.equal(new Set(rows.map(({ key_id }) => key_id)).size, 1);
  assert.ok(rows.every(({ at }) => at === 0));
});

test('a node that remembers a key stores nothing under it once it is closed', async () => {
  await using nodes = await twoNodes();
  const { one, other, url } = nodes;
  // Both remember the head, and the key: their next pools go at once.
  await append(other, request('acme', some(1)));
  await append(other, request('acme', some(1)));
  await one.tenantKeys.close('acme');
  await append(other, request('acme', some(3)));
  const rows = await raw(
    url,
    `SELECT leaf_index, state FROM contents JOIN tenant_keys USING (tenant_id, key_id) ORDER BY leaf_index`,
  );
  assert.deepEqual(
    rows.map(({ state }) => state),
    ['Closed', 'Closed', 'Open', 'Open', 'Open'],
  );
  assert.deepEqual(await one.tenantKeys.destroyUnused('acme'), [], 'there is content under it');
  assert.equal((await readBy(one)).length, 5);
});

test('a key without content is destroyed once it is closed, and the log goes on', async () => {
  await using nodes = await twoNodes();
  const { one, other, url } = nodes;
  await append(other, request('acme', some(2)));
  await one.tenantKeys.close('acme');
  await raw(url, 'DELETE FROM contents');
  assert.equal((await one.tenantKeys.destroyUnused('acme')).length, 1);
  await append(other, request('acme', some(1)));
  const [, , event] = await other.log.forTenant('acme').events(0, 3, 3);
  assert.match(soundContent(event).texts[1], new RegExp(CANARY));
  const [{ left }] = (await raw(
    url,
    `SELECT count(*)::int AS left FROM tenant_keys WHERE state = 'Destroyed' AND sealed = ''`,
  )) as [{ left: number }];
  assert.equal(left, 2);
});

test('of two closed keys the one is destroyed that has no content of its month left', async () => {
  await using nodes = await twoNodes();
  const { one, other, url } = nodes;
  await append(other, request('acme', [...some(2), draftOf({}, { retention: 'P8Y' })]));
  await one.tenantKeys.rotate('acme');
  await append(other, request('acme', some(1)));
  const keysLeft = () => one.tenantKeys.renew('acme');
  assert.equal(await keysLeft(), 4);
  await raw(url, 'DELETE FROM contents WHERE leaf_index = 0');
  await one.tenantKeys.destroyUnused('acme');
  assert.equal(await keysLeft(), 4, 'the second event is under the key, too');
  await raw(url, 'DELETE FROM contents WHERE leaf_index = 1');
  await one.tenantKeys.destroyUnused('acme');
  assert.equal(await keysLeft(), 3);
  const events = await other.log.forTenant('acme').events(2, 4, 2);
  assert.match(soundContent(events[1]).texts[1], new RegExp(CANARY));
});

test('a node with another keyring does not start', async () => {
  const url = await server.createDatabase();
  await using one = await open(url, sealingBy(testRing(1)));
  await one.tenants.ensure('acme', NOW_MS);
  await assert.rejects(
    open(url, sealingBy(testRing(2))),
    /^StartError: the keyring .* is not the one of this store/,
  );
});

test('a copy of the keyring from before a rotation does not start a node, though nothing sealed is left', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-ring-'));
  try {
    const path = join(directory, KEYRING_FILE);
    const place = { path, provider: FILE_PROVIDER, sealed: sealedBits(CLASSIFICATIONS) };
    const making = { random: createSystemRandom(), nowMs: NOW_MS };
    const url = await server.createDatabase();
    const openBySettings = () => open(url, (ringKeys) => openKeyring(place, ringKeys, making));
    {
      await using one = await openBySettings();
      await one.tenants.ensure('acme', NOW_MS);
      await append(one, request('acme', some(1)));
    }
    const older = readFileSync(path);
    const made = newRingKey(making);
    await changeKeyring({ place }, (ring) => ({ ...ring, keys: [...ring.keys, made] }));
    {
      await using one = await openBySettings();
      await one.tenantKeys.renew('acme');
      assert.deepEqual(await one.tenantKeys.ringKeys(), [made.id]);
      await one.tenantKeys.close('acme');
      await raw(url, 'DELETE FROM contents');
      await one.tenantKeys.destroyUnused('acme');
      assert.deepEqual(await one.tenantKeys.ringKeys(), []);
    }
    const newer = readFileSync(path);
    writeFileSync(path, older);
    await assert.rejects(
      openBySettings(),
      new RegExp(`^StartError: the keyring .* it has no key ${made.id}, .* from before a rotation`),
    );
    writeFileSync(path, newer);
    await using one = await openBySettings();
    await append(one, request('acme', some(1)));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
