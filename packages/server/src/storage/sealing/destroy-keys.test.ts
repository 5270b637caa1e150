import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BroadcastChannel } from 'node:worker_threads';
import { checkStore } from '../../check-store.ts';
import { systemClock } from '../../runtime/clock.ts';
import { Deadline } from '../../runtime/deadline.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { createSequencer } from '../../streams/append/sequencer.ts';
import { remove, type RemovalParts } from '../../streams/removal/remove.ts';
import { checkpointedStores, type CheckpointedStore } from '../../testing/checkpointed-store.ts';
import { openPlainStore } from '../../testing/plain-store.ts';
import { openRunningJournal } from '../../testing/running-journal.ts';
import { append, draftOf, nextId, NOW_MS, now, request, soundContent } from '../conformance/claims.ts';
import { JOURNAL_FILE } from '../sqlite/connection/database.ts';
import { until } from '../../testing/until.ts';
import { copyJournal } from '../sqlite/copy/copy-journal.ts';
import { changeKeyring, destroyPastKeys, destroyTenantKeys } from './destroy-keys.ts';
import { FILE_PROVIDER, newRingKey, readKeyring, replaceKeyring, versionOfKeyring } from './keyring-file.ts';
import type { RingData } from './keyring.ts';
import { KeyringWatch } from './keyring-watch.ts';
import { KEYRING_FILE, openKeyring } from './open-keyring.ts';
import type { OpenSealing } from './sealing.ts';

const { newPlace, open } = checkpointedStores();
const random = createSystemRandom();
const making = { random, nowMs: NOW_MS };
const ALL = 15;

interface Place {
  readonly directory: string;
  readonly path: string;
  readonly provider: typeof FILE_PROVIDER;
  readonly sealed: number;
}

function placeIn(directory: string): Place {
  return { directory, path: join(directory, KEYRING_FILE), provider: FILE_PROVIDER, sealed: ALL };
}

const sealingAt =
  (place: Place): OpenSealing =>
  (ringKeys) =>
    openKeyring(place, ringKeys, making);

async function sealedStore(): Promise<{ place: Place; store: CheckpointedStore }> {
  const place = placeIn(newPlace());
  const store = await open(place.directory, { openSealing: sealingAt(place) });
  await store.storage.tenants.ensure('acme', NOW_MS);
  return { place, store };
}

const EVENT = {
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'User', userId: 'u-1' },
  resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
  classification: 'Internal',
};
/** With the retention of the tenant; the verifier would not accept another one. */
const some = (count: number) =>
  Array.from({ length: count }, (_, i) => draftOf({ ...EVENT, payload: { i } }, { retention: 'P7Y' }));

async function add({ storage }: CheckpointedStore, count: number, at = now()): Promise<void> {
  await append(storage, request('acme', some(count)), at);
}

/** The state of each entry's content: present, removed, or what is wrong with it. */
async function contentsOf({ storage }: Pick<CheckpointedStore, 'storage'>): Promise<string> {
  const events = await storage.log.forTenant('acme').events(0, 1000, 1000);
  return events
    .map(({ content }) => {
      if (content === undefined) return '?';
      if ('fault' in content) return /destroyed/.test(content.fault) ? 'K' : 'F';
      return 'texts' in content ? '.' : content.isDeleted ? 'D' : 'P';
    })
    .join('');
}

function removalParts({ storage, checkpointer }: CheckpointedStore): RemovalParts {
  const steadyNowMs = () => systemClock.now();
  const sequencer = createSequencer({ writer: storage.log, clock: systemClock, steadyNowMs });
  const { removal, tree: trees } = storage;
  return { removal, trees, sequencer, checkpointer, clock: systemClock, nextId, forget: async () => {} };
}

const CORRELATION = '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11';

async function removeAll(store: CheckpointedStore, endIndex: number): Promise<void> {
  await store.covers('acme', endIndex);
  const spans = [{ firstIndex: 0, endIndex }];
  const wish = { tenant: 'acme', spans, cause: 'KeyDestroyed', correlationId: CORRELATION } as const;
  await remove({ ...wish, deadline: new Deadline() }, removalParts(store));
}

/** A copy of the events, as another data directory with this keyring. */
async function backupOf({ directory }: Place, keyring: string): Promise<Place> {
  const copy = placeIn(newPlace());
  mkdirSync(copy.directory, { recursive: true });
  await copyJournal(directory, join(copy.directory, JOURNAL_FILE));
  copyFileSync(keyring, copy.path);
  return copy;
}

async function contentsIn(place: Place): Promise<string> {
  await using storage = await openPlainStore(place.directory, sealingAt(place));
  return contentsOf({ storage });
}

test('a tenant whose keys are destroyed goes on under new ones, and its log is verified', async () => {
  const { place, store } = await sealedStore();
  await add(store, 5);
  const parts = { keys: store.storage.tenantKeys, place, nowMs: NOW_MS };
  await store.storage.tenantKeys.close('acme');
  await add(store, 2);
  await store.covers('acme', 5);
  const all = {
    tenant: 'acme',
    spans: [{ firstIndex: 0, endIndex: 5 }],
    correlationId: CORRELATION,
  } as const;
  await remove({ ...all, cause: 'KeyDestroyed', deadline: new Deadline() }, removalParts(store));
  const whole = readFileSync(place.path, 'utf8');
  const gone = await destroyTenantKeys('acme', parts);
  assert.equal(gone.tenantKeys.length, 1);
  const left = readFileSync(place.path, 'utf8');
  assert.notEqual(left, whole);
  // As after a crash between the store and the keyring.
  writeFileSync(place.path, whole);
  assert.deepEqual(await destroyTenantKeys('acme', parts), gone);
  assert.equal(readFileSync(place.path, 'utf8'), left);
  assert.equal(await contentsOf(store), 'DDDDD...', 'what came meanwhile is under new keys');
  await add(store, 1);
  assert.equal(await contentsOf(store), 'DDDDD....');
  await store.close();
  const report = await checkStore(place.directory, { keys: [], seen: [], isWithoutIndex: true });
  assert.deepEqual(report.faults, []);
  assert.equal(report.totals.deleted, 5);
});

test('what is destroyed in the keyring reaches backups; a copy of the keyring from before opens them', async () => {
  const { place, store } = await sealedStore();
  await add(store, 3);
  const old = `${place.path}.old`;
  copyFileSync(place.path, old);
  const backup = await backupOf(place, old);
  assert.equal(await contentsIn(backup), '...');
  await removeAll(store, 3);
  await store.storage.tenantKeys.close('acme');
  const parts = { keys: store.storage.tenantKeys, place, nowMs: NOW_MS };
  assert.equal((await destroyTenantKeys('acme', parts)).tenantKeys.length, 1);
  copyFileSync(place.path, backup.path);
  assert.equal(await contentsIn(backup), 'KKK');
  // The negative control: only what is left of the keyring keeps it shut.
  copyFileSync(old, backup.path);
  assert.equal(await contentsIn(backup), '...');
  await store.close();
});

test('no key is destroyed while content is left under it, or may still come under it', async () => {
  const { place, store } = await sealedStore();
  await add(store, 3);
  const parts = { keys: store.storage.tenantKeys, place, nowMs: NOW_MS };
  assert.deepEqual(await destroyTenantKeys('acme', parts), { tenantKeys: [], months: [] });
  await store.storage.tenantKeys.close('acme');
  assert.deepEqual(await destroyTenantKeys('acme', parts), { tenantKeys: [], months: [] });
  assert.equal(await contentsOf(store), '...');
  await store.close();
});

test('a closed key is destroyed when its own tenant has no content of its month left', async () => {
  const { place, store } = await sealedStore();
  const { storage } = store;
  await storage.tenants.ensure('other', NOW_MS);
  const longer = () => draftOf(EVENT, { retention: 'P8Y' });
  await append(storage, request('other', some(1)), now());
  await append(storage, request('acme', [...some(1), longer(), ...some(1)]), now());
  await storage.tenantKeys.rotate('acme');
  await append(storage, request('acme', [...some(1), longer()]), now());
  const keysLeft = () => storage.tenantKeys.renew('acme');
  assert.equal(await keysLeft(), 5, 'of the tenant, and two of each month');
  await destroyTenantKeys('acme', { keys: storage.tenantKeys, place, nowMs: NOW_MS });
  assert.equal(await keysLeft(), 5);
  await removeAll(store, 1);
  await destroyTenantKeys('acme', { keys: storage.tenantKeys, place, nowMs: NOW_MS });
  assert.equal(await keysLeft(), 5, 'the third event is under the first key, too');
  await removeAll(store, 3);
  await destroyTenantKeys('acme', { keys: storage.tenantKeys, place, nowMs: NOW_MS });
  assert.equal(await keysLeft(), 3);
  assert.match(await contentsOf(store), /^DDD\.+$/);
  await store.close();
});

const YEARS_MS = 8 * 365 * 86_400_000;

test('the keys of a month go, in the keyring, too, once it is over and all of its content is removed', async () => {
  const { place, store } = await sealedStore();
  await add(store, 2);
  const old = `${place.path}.old`;
  copyFileSync(place.path, old);
  const backup = await backupOf(place, old);
  const later = { keys: store.storage.tenantKeys, place, nowMs: NOW_MS + YEARS_MS };
  assert.deepEqual(await destroyPastKeys({ ...later, nowMs: NOW_MS }), { tenantKeys: [], months: [] });
  assert.deepEqual(await destroyPastKeys(later), { tenantKeys: [], months: [] }, 'there is content left');
  await removeAll(store, 2);
  const { months, tenantKeys } = await destroyPastKeys(later);
  assert.deepEqual([months.length, tenantKeys.length], [1, 0]);
  copyFileSync(place.path, backup.path);
  assert.equal(await contentsIn(backup), 'KK');
  const version = versionOfKeyring(place.path);
  assert.deepEqual((await destroyPastKeys(later)).months, months, 'a repeat changes nothing');
  assert.equal(versionOfKeyring(place.path), version, 'and leaves the file, which all nodes would read');
  await append(store.storage, request('acme', [draftOf({}, { retention: 'P1Y' })]), now(NOW_MS + YEARS_MS));
  assert.match(await contentsOf(store), /^DD\.+$/);
  await store.close();
});

test('a new key of the keyring seals all keys, and a running store learns of it', async () => {
  const { place, store } = await sealedStore();
  await add(store, 2);
  using watch = new KeyringWatch(place, () => store.storage.tenantKeys.ringKeys());
  const made = newRingKey(making);
  await changeKeyring({ place }, (ring) => ({ ...ring, keys: [...ring.keys, made] }));
  await watch.look();
  const { tenantKeys } = store.storage;
  for (let i = 0; i < 200; i++) {
    await tenantKeys.renew('acme');
    if ((await tenantKeys.ringKeys()).join() === made.id) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.deepEqual(await tenantKeys.ringKeys(), [made.id]);
  await tenantKeys.rotate('acme');
  await add(store, 2);
  assert.equal(await contentsOf(store), '....');
  await store.close();
  {
    using db = openRunningJournal(place.directory);
    const [{ count }] = db.prepare('SELECT count(DISTINCT key_id) AS count FROM contents').all() as [
      { count: number },
    ];
    assert.equal(count, 2, 'new content has a new data key');
  }
  // The first key of the keyring is of use only for backups from before.
  const { ring } = (await readKeyring(place))!;
  assert.equal(ring.keys.length, 2);
  await replaceKeyring(ring, FILE_PROVIDER);
  assert.equal(await contentsIn(place), '....');
});

test('a thread that is started after a new key of the keyring opens what that has sealed', async () => {
  const place = placeIn(newPlace());
  mkdirSync(place.directory, { recursive: true });
  await using storage = await openPlainStore(place.directory, sealingAt(place), true);
  await storage.tenants.ensure('acme', NOW_MS);
  await append(storage, request('acme', some(2)), now());
  const { tenantKeys } = storage;
  using watch = new KeyringWatch(place, () => tenantKeys.ringKeys());
  const made = newRingKey(making);
  await changeKeyring({ place }, (ring) => ({ ...ring, keys: [...ring.keys, made] }));
  await watch.look();
  await until(async () => {
    await tenantKeys.renew('acme');
    return (await tenantKeys.ringKeys()).join() === made.id;
  });
  const span = { fromIndex: 0, endIndex: 2, publicKeys: [], deletedBeforeMs: 0 };
  assert.equal((await storage.tree.forTenant('acme').checkRange(span, () => {})).fault, undefined);
});

test('threads that were started with a keyring are told of it once it is another', async () => {
  const { place, store } = await sealedStore();
  const { ring } = (await readKeyring(place))!;
  using watch = new KeyringWatch(place, () => store.storage.tenantKeys.ringKeys());
  watch.opened(ring);
  const told: RingData[] = [];
  const news = new BroadcastChannel(`tallystick keyring ${place.path}`);
  news.addEventListener('message', (message) =>
    told.push((message as unknown as { readonly data: RingData }).data),
  );
  await watch.look();
  const both = { ...ring, keys: [...ring.keys, newRingKey(making)] };
  await replaceKeyring(both, FILE_PROVIDER);
  await watch.look();
  await until(() => told.length > 0);
  assert.deepEqual(told, [both]);
  news.close();
  await replaceKeyring(ring, FILE_PROVIDER);
  await assert.rejects(watch.look(), /^StartError: the keyring .* has lost the key [0-9a-f]{16}/);
  await store.close();
});

test('a keyring of another store, or one from before a rotation, takes no effect on a running one', async () => {
  const { place, store } = await sealedStore();
  await add(store, 2);
  const first = (await readKeyring(place))!.ring;
  const both = { ...first, keys: [...first.keys, newRingKey(making)] };
  await replaceKeyring(both, FILE_PROVIDER);
  using watch = new KeyringWatch(place, () => store.storage.tenantKeys.ringKeys());
  await watch.look();
  const { tenantKeys } = store.storage;
  await until(async () => {
    await tenantKeys.renew('acme');
    return (await tenantKeys.ringKeys()).join() === both.keys[1]!.id;
  });
  // One that has just begun to look knows what the store needs.
  using late = new KeyringWatch(place, () => tenantKeys.ringKeys());
  for (const keys of [first.keys, [newRingKey(making)]]) {
    await replaceKeyring({ ...first, keys }, FILE_PROVIDER);
    await assert.rejects(late.look(), /^StartError: the keyring .* has lost the key [0-9a-f]{16}/);
    await assert.rejects(watch.look(), /^StartError: the keyring .* has lost the key [0-9a-f]{16}/);
    await tenantKeys.rotate('acme');
    await add(store, 1);
    assert.deepEqual(await tenantKeys.ringKeys(), [both.keys[1]!.id]);
  }
  assert.equal(await contentsOf(store), '....');
  await replaceKeyring(both, FILE_PROVIDER);
  await watch.look();
  await store.close();
  assert.equal(await contentsIn(place), '....');
});

test('an older keyring is refused after a rotation, though an erasure has left nothing that is sealed', async () => {
  const { place, store } = await sealedStore();
  await add(store, 2);
  const older = readFileSync(place.path);
  const made = newRingKey(making);
  const ring = await changeKeyring({ place }, (before) => ({ ...before, keys: [...before.keys, made] }));
  using watch = new KeyringWatch(place, () => store.storage.tenantKeys.ringKeys());
  await watch.look();
  const { tenantKeys } = store.storage;
  await until(async () => {
    await tenantKeys.renew('acme');
    return (await tenantKeys.ringKeys()).join() === made.id;
  });
  await removeAll(store, 2);
  await tenantKeys.close('acme');
  const whole = readFileSync(place.path);
  const parts = { keys: tenantKeys, place, nowMs: NOW_MS };
  assert.equal((await destroyTenantKeys('acme', parts)).tenantKeys.length, 1);
  assert.deepEqual(await tenantKeys.ringKeys(), []);
  const left = readFileSync(place.path);
  // From between the two, as after a crash: it is no other keyring, and loses again what is destroyed.
  writeFileSync(place.path, whole);
  await destroyPastKeys(parts);
  assert.deepEqual(readFileSync(place.path), left);
  await store.close();
  writeFileSync(place.path, older);
  await assert.rejects(
    openPlainStore(place.directory, sealingAt(place)),
    new RegExp(`^StartError: the keyring .* it has no key ${made.id}, .* from before a rotation`),
  );
  assert.equal(ring.keys.length, 2);
  writeFileSync(place.path, left);
  assert.equal(await contentsIn(place), 'DD.', 'the notice is in the clear');
});

const TAMPERED = {
  'a byte of a box': `UPDATE contents SET text1 = CAST(substr(text1, 1, 20) || x'00' || substr(text1, 22) AS BLOB) WHERE id = 2`,
  'two boxes that are exchanged': `UPDATE contents SET text1 = (SELECT text1 FROM contents AS other WHERE other.id = 5 - contents.id)
    WHERE id IN (2, 3)`,
  'the key of a box': `UPDATE contents SET key_id = '01KE0000000000000000000001' WHERE id = 2`,
  'a byte of a key': `UPDATE tenant_keys SET sealed = CAST(substr(sealed, 1, 40) || x'0000' || substr(sealed, 43) AS BLOB)`,
  'the month of a key': `UPDATE tenant_keys SET month = month + 1 WHERE purpose = 'Content'`,
  'a key that is said to be destroyed': `UPDATE tenant_keys SET state = 'Destroyed' WHERE purpose = 'Content'`,
  'a key that is destroyed without a notice': `UPDATE tenant_keys SET state = 'Destroyed', sealed = x'' WHERE purpose = 'Content'`,
  'the name of the key of the keyring': `UPDATE tenant_keys SET ring_key = '00000000000000aa'`,
};

test('the verifier names whatever is altered in boxes and keys, and does not run without the keyring', async () => {
  const { place, store } = await sealedStore();
  await add(store, 3);
  await store.covers('acme', 3);
  await store.close();
  const check = (directory: string) => checkStore(directory, { keys: [], seen: [], isWithoutIndex: true });
  assert.deepEqual((await check(place.directory)).faults, []);
  for (const [what, sql] of Object.entries(TAMPERED)) {
    using db = openRunningJournal(place.directory);
    db.exec('BEGIN');
    const saved = db.prepare('SELECT * FROM tenant_keys').all();
    assert.equal(saved.length, 2);
    db.exec('COMMIT');
    db.exec(
      'CREATE TEMP TABLE c AS SELECT * FROM contents; CREATE TEMP TABLE k AS SELECT * FROM tenant_keys',
    );
    db.exec(sql);
    const { faults } = await check(place.directory);
    assert.ok(faults.length > 0, what);
    assert.equal(faults[0]!.tenant, 'acme', what);
    db.exec('DELETE FROM contents; INSERT INTO contents SELECT * FROM c');
    db.exec('DELETE FROM tenant_keys; INSERT INTO tenant_keys SELECT * FROM k');
  }
  assert.deepEqual((await check(place.directory)).faults, []);
  const [event] = await (async () => {
    await using storage = await openPlainStore(place.directory, sealingAt(place));
    return storage.log.forTenant('acme').events(0, 1, 1);
  })();
  soundContent(event);
  rmSync(place.path);
  await assert.rejects(check(place.directory), /^StartError: there is sealed content, and no keyring/);
});
