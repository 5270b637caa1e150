import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { createSigning } from '../../keys/signing.ts';
import { systemClock } from '../../runtime/clock.ts';
import { Deadline } from '../../runtime/deadline.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { openOwnAnchor } from '../../storage/anchor/file-anchor.ts';
import { NOW_MS } from '../../storage/conformance/claims.ts';
import { fill } from '../../storage/conformance/tree.ts';
import { openSigningKeys } from '../../storage/keys/signing-key-files.ts';
import { openPlainStore } from '../../testing/plain-store.ts';
import { createTelemetry } from '../../telemetry.ts';
import { TENANT, testCall } from '../../testing/test-call.ts';
import { createCheckpointer } from '../checkpoints/checkpointer.ts';
import { findDivergence } from './divergence.ts';
import { covering } from '../checkpoints/provable.ts';
import { beginEpoch, findAffected } from './recovery.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-recovery-'));
after(() => rmSync(folder, { recursive: true }));

const newPlace = () => mkdtempSync(join(folder, 'data-'));
const journalOf = (directory: string) => join(directory, 'journal.db');
const TIME = { nowMs: NOW_MS, steadyNowMs: NOW_MS };
const anchorOf = (directory: string) => join(directory, 'anchor');

/** A store with its anchor, and the parts that a recovery needs. */
async function open(directory: string) {
  const stack = new AsyncDisposableStack();
  const random = createSystemRandom();
  const storage = stack.use(await openPlainStore(directory));
  const anchor = stack.use(await openOwnAnchor(directory));
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const telemetry = createTelemetry({ level: 'Info', form: 'json', secrets: [], clock: systemClock, write });
  const { log, tree, tenants, logOrigin } = storage;
  const parts = { log, tree, tenants, logOrigin, anchor, telemetry, clock: systemClock };
  const signing = createSigning(systemClock);
  signing.use(await openSigningKeys(directory, NOW_MS));
  const checkpointer = stack.use(
    createCheckpointer({ tree, anchor, signing, clock: systemClock, random, telemetry, intervalMs: 5 }),
  );
  return {
    storage,
    parts,
    lines,
    checkpointer,
    signing,
    /** Signs a tenant's log up to this number of entries. */
    async sign(tenant: string, size: number) {
      await checkpointer.settle(logOrigin);
      checkpointer.start();
      const isPublished = async () =>
        ((await (await tree.forTenant(tenant).tree())?.latest())?.size ?? 0) >= size;
      await checkpointer.covers({ tenant, size, deadline: new Deadline() }, isPublished);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** A log with this number of entries, all of them signed. */
async function grow(directory: string, tenant: string, count: number, size: number): Promise<void> {
  await using store = await open(directory);
  await store.storage.tenants.ensure(tenant, NOW_MS);
  await fill(store.storage, tenant, count);
  await store.sign(tenant, size);
}

async function affected(directory: string) {
  await using store = await open(directory);
  const { disagreements, unanchored: logs, damaged } = await findAffected(store.parts);
  const found = disagreements.map(({ tenant, kind, entries, anchored }) => [
    tenant,
    kind,
    entries,
    anchored.size,
  ]);
  const unanchored = logs.map(({ tenant, signed, anchoredSize }) => [tenant, signed.size, anchoredSize]);
  return { found, unanchored, damaged: [...damaged.keys()], lines: store.lines };
}

/** Recovers all affected tenants and returns their new origins. */
async function recoverAll(directory: string): Promise<string[]> {
  await using store = await open(directory);
  const { disagreements } = await findAffected(store.parts);
  const begun = [];
  const history = await store.parts.anchor.history();
  for (const each of disagreements) begun.push((await beginEpoch(each, history, store.parts)).origin);
  return begun;
}

const isOtherHistory = (size: number) => (error: unknown) => {
  assert.ok(error instanceof AuditError && error.cause instanceof Error, String(error));
  const said = `the first ${size} entries of audit\\.example\\.com/t/acme are not those that were signed with root`;
  assert.match(error.cause.message, new RegExp(`^${said} [0-9a-f]{64}: theirs is [0-9a-f]{64}$`));
  return true;
};

test('tenants behind the anchor are found, and after recovery there are none, however often it runs', async () => {
  const [directory, copies] = [newPlace(), newPlace()];
  await grow(directory, 'acme', 2, 2);
  await grow(directory, 'other', 2, 2);
  cpSync(journalOf(directory), journalOf(copies));
  for (const [epoch, total] of [
    [1, 7],
    [2, 6],
  ] as const) {
    await grow(directory, 'acme', 5, total);
    cpSync(journalOf(copies), journalOf(directory));
    assert.equal((await affected(directory)).found.length, 1);
    assert.deepEqual(await recoverAll(directory), [`audit.example.com/t/acme/${epoch}`]);
    const { found, lines } = await affected(directory);
    assert.deepEqual([found, lines], [[], []], 'nothing is said of former logs');
  }
  await grow(directory, 'acme', 1, 2);
  assert.deepEqual((await affected(directory)).found, []);
});

test('reading back logs reports its progress', async () => {
  const directory = newPlace();
  await grow(directory, 'other', 3, 3);
  await grow(directory, 'acme', 2, 2);
  // Anchored, and killed before the checkpoint was stored.
  await grow(directory, 'acme', 3, 5);
  {
    using db = new DatabaseSync(journalOf(directory));
    db.exec('DELETE FROM checkpoints WHERE size = 5');
  }
  await using store = await open(directory);
  const told: unknown[] = [];
  const { disagreements } = await findAffected(store.parts, (progress) => told.push(progress));
  assert.deepEqual(disagreements, []);
  assert.deepEqual(told, [{ entries: 3, entriesTotal: 3 }]);
});

test('another history is found where it is as long as the anchored one, or longer, signed or not', async () => {
  const [directory, other] = [newPlace(), newPlace()];
  await grow(directory, 'acme', 2, 2);
  for (const name of ['journal.db', 'anchor']) {
    cpSync(join(directory, name), join(other, name));
  }
  await grow(directory, 'acme', 3, 5);
  // The same log with three other entries, signed by an installation without this anchor.
  await grow(other, 'acme', 3, 5);
  cpSync(journalOf(other), journalOf(directory));
  assert.deepEqual((await affected(directory)).found, [['acme', 'OtherHistory', 5, 5]]);
  await grow(other, 'acme', 300, 305);
  cpSync(journalOf(other), journalOf(directory));
  assert.deepEqual((await affected(directory)).found, [['acme', 'OtherHistory', 305, 5]]);
  await assert.rejects(recoverAll(directory), isOtherHistory(5));
  assert.deepEqual((await affected(directory)).found, [['acme', 'OtherHistory', 305, 5]]);
});

/** A store of five entries, behind an anchor of six: two are as anchored, the others are different. */
async function forkedStore({ isSigned }: { isSigned: boolean }): Promise<string> {
  const [directory, other] = [newPlace(), newPlace()];
  await grow(directory, 'acme', 2, 2);
  for (const name of ['journal.db', 'anchor']) cpSync(join(directory, name), join(other, name));
  for (const size of [4, 5, 6]) await grow(directory, 'acme', size === 4 ? 2 : 1, size);
  if (isSigned) await grow(other, 'acme', 3, 5);
  else {
    await using store = await open(other);
    await fill(store.storage, 'acme', 3);
  }
  cpSync(journalOf(other), journalOf(directory));
  return directory;
}

test('another history that is shorter than the anchored one is found by what was anchored before', async () => {
  const directory = await forkedStore({ isSigned: true });
  assert.deepEqual((await affected(directory)).found, [['acme', 'OtherHistory', 5, 6]]);
  await assert.rejects(recoverAll(directory), isOtherHistory(4));
  await using store = await open(directory);
  await store.checkpointer.settle('audit.example.com');
  assert.match(
    store.checkpointer.refusalOf('acme')!,
    /first 5 entries of \S+ are not those that were signed/,
  );
  assert.doesNotMatch(store.checkpointer.refusalOf('acme')!, /recover/);
});

test('another history that is shorter and not signed gets no new epoch either', async () => {
  const directory = await forkedStore({ isSigned: false });
  await assert.rejects(recoverAll(directory), isOtherHistory(4));
  assert.equal((await affected(directory)).found.length, 1);
});

test('another history is refused also where an epoch was written behind it by hand', async () => {
  for (const isSigned of [true, false]) {
    const directory = await forkedStore({ isSigned });
    await using store = await open(directory);
    const { anchored } = (await findAffected(store.parts)).disagreements[0]!;
    // An intruder who has the data alone can do this: older anchored heads are not compared here.
    const { status } = await store.storage.log.beginEpoch({ tenant: 'acme', anchored }, TIME);
    assert.equal(status, 'Begun');
    await store.checkpointer.settle('audit.example.com');
    const refusal = store.checkpointer.refusalOf('acme');
    assert.match(
      refusal!,
      /first 5 entries of \S+acme are not those that were signed/,
      `signed: ${isSigned}`,
    );
  }
});

test('another history in a log that is over is found where the copy knows nothing of the next', async () => {
  const [directory, other] = [newPlace(), newPlace()];
  await grow(directory, 'acme', 2, 2);
  for (const name of ['journal.db', 'anchor']) cpSync(join(directory, name), join(other, name));
  await grow(directory, 'acme', 2, 4);
  await grow(directory, 'acme', 2, 6);
  cpSync(journalOf(other), journalOf(directory));
  assert.deepEqual(await recoverAll(directory), ['audit.example.com/t/acme/1']);
  await grow(directory, 'acme', 1, 2);
  await grow(other, 'acme', 2, 4);
  cpSync(journalOf(other), journalOf(directory));
  assert.deepEqual((await affected(directory)).found, [['acme', 'OtherHistory', 4, 2]]);
  await assert.rejects(recoverAll(directory), isOtherHistory(4));
});

test('a stored checkpoint that does not match the entries stops a log, also without the anchor of its time', async () => {
  const [directory, other] = [newPlace(), await forkedStore({ isSigned: true })];
  await grow(directory, 'acme', 2, 2);
  await grow(directory, 'acme', 3, 5);
  rmSync(anchorOf(directory));
  {
    await using anchor = await openOwnAnchor(directory);
    const root = new Uint8Array(32).fill(7);
    await anchor.append([{ origin: 'audit.example.com/t/acme', size: 9, root }]);
    using db = new DatabaseSync(journalOf(directory));
    db.prepare('ATTACH ? AS other').run(journalOf(other));
    db.exec(
      'UPDATE checkpoints SET note = (SELECT note FROM other.checkpoints WHERE size = 5) WHERE size = 5',
    );
  }
  assert.deepEqual((await affected(directory)).found, [['acme', 'Behind', 5, 9]]);
  await assert.rejects(recoverAll(directory), isOtherHistory(5));
});

test('a log that lacks an entry has no root there, and none is shown for it', async () => {
  for (const missing of [2, 3]) {
    const directory = newPlace();
    await grow(directory, 'acme', 2, 2);
    const [origin, root] = ['audit.example.com/t/acme', new Uint8Array(32).fill(7)];
    {
      await using store = await open(directory);
      await fill(store.storage, 'acme', 4);
      await store.parts.anchor.append([{ origin, size: 9, root }]);
    }
    {
      using db = new DatabaseSync(journalOf(directory));
      db.exec(`DROP TRIGGER entries_stay; DELETE FROM entries WHERE leaf_index = ${missing}`);
    }
    await using store = await open(directory);
    const history = [{ origin, size: 4, root }];
    const request = { tenant: 'acme', anchored: { origin, size: 9, root }, history };
    const parted = { origin, size: 4, signedRoot: root, root: undefined };
    assert.deepEqual(await store.storage.log.beginEpoch(request, TIME), {
      status: 'OtherHistory',
      ...parted,
    });
    // A log that has ended is read completely, signed or not.
    using db = new DatabaseSync(journalOf(directory));
    db.exec("INSERT INTO epochs (tenant, epoch, first_index, previous_checkpoint) VALUES (1, 1, 6, '')");
    assert.deepEqual(
      await findDivergence('acme', new Map([[origin, history]]), store.storage.tree),
      parted,
      `entry ${missing}`,
    );
  }
});

test('another history that is not signed is found by reading it back', async () => {
  const [directory, copies] = [newPlace(), newPlace()];
  await grow(directory, 'acme', 2, 2);
  cpSync(journalOf(directory), journalOf(copies));
  await grow(directory, 'acme', 3, 5);
  cpSync(journalOf(copies), journalOf(directory));
  {
    await using store = await open(directory);
    await fill(store.storage, 'acme', 9);
  }
  assert.deepEqual((await affected(directory)).found, [['acme', 'OtherHistory', 11, 5]]);
  await assert.rejects(recoverAll(directory), isOtherHistory(5));
  await using store = await open(directory);
  assert.equal((await store.storage.tree.forTenant('acme').tree())!.epoch, 0);
});

test('a log whose anchor is older than the store is not behind, and is reported as unanchored', async () => {
  const directory = newPlace();
  await grow(directory, 'acme', 2, 2);
  cpSync(anchorOf(directory), join(directory, 'older'));
  await grow(directory, 'acme', 300, 302);
  cpSync(join(directory, 'older'), anchorOf(directory));
  const { found, unanchored } = await affected(directory);
  assert.deepEqual([found, unanchored], [[], [['acme', 302, 2]]]);
});

test('a damaged log is reported, and gets no new epoch', async () => {
  const directory = newPlace();
  await grow(directory, 'acme', 2, 2);
  {
    await using store = await open(directory);
    await fill(store.storage, 'acme', 3);
    const anchored = { origin: 'audit.example.com/t/acme', size: 5, root: new Uint8Array(32) };
    await store.parts.anchor.append([anchored]);
  }
  {
    using db = new DatabaseSync(journalOf(directory));
    db.exec(
      'DROP TRIGGER entries_do_not_change; UPDATE entries SET leaf = zeroblob(32) WHERE leaf_index = 3',
    );
  }
  const { found, damaged } = await affected(directory);
  assert.deepEqual([found, damaged], [[], ['acme']]);
});

test('an event that was never signed before the restore has no proof, and others have theirs', async () => {
  const [directory, copies] = [newPlace(), newPlace()];
  await grow(directory, 'acme', 2, 2);
  {
    await using store = await open(directory);
    await fill(store.storage, 'acme', 2);
  }
  cpSync(journalOf(directory), journalOf(copies));
  await grow(directory, 'acme', 3, 7);
  cpSync(journalOf(copies), journalOf(directory));
  await recoverAll(directory);
  await using store = await open(directory);
  await store.sign('acme', 1);
  const { checkpointer, signing } = store;
  const parts = { trees: store.storage.tree, checkpointer, signing };
  const call = testCall({ tenant: 'acme', tenantRecord: TENANT });
  const covered = async (index: number) => {
    const { tree, checkpoint } = await covering(call, index, parts);
    return [tree.origin, checkpoint.size];
  };
  assert.deepEqual(await covered(1), ['audit.example.com/t/acme', 2]);
  assert.deepEqual(await covered(4), ['audit.example.com/t/acme/1', 1]);
  await assert.rejects(covered(3), (error) => {
    assert.ok(error instanceof AuditError);
    assert.equal(error.code, 'EVENT_NOT_FOUND');
    assert.match(error.message, /never signed under audit\.example\.com\/t\/acme, and .* as \S+acme\/1\.$/);
    return true;
  });
});
