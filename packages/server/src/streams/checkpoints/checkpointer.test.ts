import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { AuditError } from '@tallystick/contract';
import { noteVerifier, openCheckpoint } from '@tallystick/evidence';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { Deadline } from '../../runtime/deadline.ts';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createLateAnchor } from '../../storage/anchor/late-anchor.ts';
import { checkpointedStores, headOf } from '../../testing/checkpointed-store.ts';
import { NOW_MS } from '../../storage/conformance/claims.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Anchor } from '../anchor/anchor.ts';

const { newPlace, open } = checkpointedStores();

test('appended entries are signed, anchored and stored, each tenant separately', async () => {
  const store = await open(newPlace());
  await store.fill('acme', 3);
  await store.fill('other', 1);
  await Promise.all([store.covers('acme', 3), store.covers('other', 1)]);
  for (const [tenant, size] of [
    ['acme', 3],
    ['other', 1],
  ] as const) {
    const origin = `audit.example.com/t/${tenant}`;
    const verifiers = await Promise.all(store.signing.verifierKeys(origin).map(noteVerifier));
    const opened = await openCheckpoint((await store.latest(tenant))!.note, { origin, verifiers });
    assert.equal(opened.size, size);
    assert.deepEqual(headOf(store.anchor, tenant), { origin, size, root: opened.root });
  }
  await store.close();
});

test('a crash between the anchor and the store is repaired by the next turn, and by the next start', async () => {
  const directory = newPlace();
  let isBroken = true;
  const broken = (tree: Storage['tree']): Storage['tree'] => ({
    ...tree,
    publish: (...logs) => (isBroken ? Promise.reject(new Error('the disk is full')) : tree.publish(...logs)),
  });
  {
    const store = await open(directory, { tree: broken });
    await store.fill('acme', 3);
    await until(() => headOf(store.anchor, 'acme') !== undefined);
    await store.close();
    assert.equal(headOf(store.anchor, 'acme')!.size, 3);
  }
  const store = await open(directory, { tree: broken });
  await store.fill('acme', 2);
  await until(() => store.checkpointer.figures().failure !== undefined);
  isBroken = false;
  await until(() => store.checkpointer.figures().failure === undefined);
  await store.covers('acme', 5);
  assert.equal(store.checkpointer.refusalOf('acme'), undefined);
  // The anchored checkpoint was signed, and is stored too.
  assert.equal((await (await store.storage.tree.forTenant('acme').tree())!.checkpoint(3))?.size, 3);
  await store.close();
});

function appending(anchor: Anchor, append: Anchor['append']): Anchor {
  const late = createLateAnchor();
  late.use(anchor);
  return { ...late, append };
}

test('nothing is stored that is not anchored', async () => {
  let isBroken = true;
  const append =
    (anchor: Anchor): Anchor['append'] =>
    (heads) =>
      isBroken ? Promise.reject(new Error('not mounted')) : anchor.append(heads);
  const store = await open(newPlace(), { anchor: (anchor) => appending(anchor, append(anchor)) });
  await store.fill('acme', 1);
  await until(() => store.checkpointer.figures().failure !== undefined);
  assert.equal(await store.latest('acme'), undefined);
  // After repeated failures, other nodes may take its logs until it has signed one.
  await until(() => !store.checkpointer.isAble());
  isBroken = false;
  await until(() => store.checkpointer.figures().failure === undefined);
  assert.equal(store.checkpointer.isAble(), true);
  await store.covers('acme', 1);
  await store.close();
});

test('waiting callers are told at once when no checkpoint can be made, and so are new ones', async () => {
  const { promise: mayFail, resolve: fail } = Promise.withResolvers<void>();
  const append = () => mayFail.then(() => Promise.reject(new Error('not mounted')));
  const store = await open(newPlace(), { anchor: (anchor) => appending(anchor, append) });
  await store.fill('acme', 1);
  const isUnavailable = (error: unknown) => {
    assert.ok(error instanceof AuditError);
    assert.equal(error.code, 'SERVICE_UNAVAILABLE');
    assert.match(error.message, /not signed at the moment/);
    return true;
  };
  const waiting = assert.rejects(store.covers('acme', 1), isUnavailable);
  fail();
  await waiting;
  await assert.rejects(store.covers('acme', 1), isUnavailable);
  const deadline = new Deadline();
  await store.checkpointer.covers({ tenant: 'acme', size: 1, deadline }, async () => true);
  await store.close();
});

test('a log is refused until it is compared with its anchor, and continues when it agrees', async () => {
  const directory = newPlace();
  await signUnstored(directory);
  let isRead = false;
  const slow = (tree: Storage['tree']): Storage['tree'] => ({
    ...tree,
    readGrowth: async () => (isRead ? tree.readGrowth() : { grown: [], faults: [], hasMore: false }),
  });
  const store = await open(directory, { tree: slow });
  const { checkpointer } = store;
  assert.match(checkpointer.refusalOf('acme')!, /is being compared with its anchor/);
  assert.equal(checkpointer.refusalOf('other'), undefined);
  assert.deepEqual([checkpointer.refusedTenants(), checkpointer.figures().refusedTenants], [['acme'], 1]);
  assert.ok(
    store.lines.some((line) => line.includes('"tenant":"acme"')),
    'the diagnostics say which',
  );
  isRead = true;
  await store.covers('acme', 3);
  assert.equal(checkpointer.refusalOf('acme'), undefined);
  assert.deepEqual([checkpointer.refusedTenants(), checkpointer.figures().refusedTenants], [[], 0]);
  await store.close();
});

test('logs that a kill left half signed are decided before requests are served', async () => {
  const directory = newPlace();
  await signUnstored(directory);
  const store = await open(directory);
  assert.equal(store.checkpointer.refusalOf('acme'), undefined);
  await store.covers('acme', 3);
  await store.close();
});

test('a slow machine decides them before requests are served, too, however long each read takes', async () => {
  const directory = newPlace();
  await signUnstored(directory);
  let looks = 0;
  const store = await open(directory, {
    clock: { ...systemClock, monotonicNs: () => systemClock.monotonicNs() + looks * 3e9 },
    tree: (tree) => ({
      ...tree,
      readGrowth: async () =>
        ++looks < 4 ? { grown: [], faults: [], hasMore: true } : await tree.readGrowth(),
    }),
  });
  assert.equal(store.checkpointer.refusalOf('acme'), undefined);
  await store.close();
});

test('signing takes a twentieth of the time at most, also while proofs are requested', async () => {
  const SIGNING_MS = 5;
  const rounds = 4;
  // Time passes only for signing and waiting, so the load of the machine does not matter.
  const fake = createFakeClock();
  let signingNs = 0;
  const clock: Clock = { ...fake, monotonicNs: () => fake.monotonicNs() + signingNs };
  const store = await open(newPlace(), {
    clock,
    intervalMs: 500,
    sign: (signing) => (head) => {
      signingNs += SIGNING_MS * 1e6;
      return signing.sign(head);
    },
  });
  const step = async () => {
    if (fake.pending() > 0) await fake.advance(1);
    else await new Promise((resolve) => setTimeout(resolve, 1));
    return 'Waiting';
  };
  const coveredAtMs = async (size: number) => {
    await store.fill('acme', 1);
    const covered = store.covers('acme', size).then(() => clock.monotonicNs() / 1e6);
    while ((await Promise.race([covered, step()])) === 'Waiting');
    return covered;
  };
  const beganMs = await coveredAtMs(1);
  let elapsedMs = 0;
  for (let size = 2; size <= rounds + 1; size++) elapsedMs = (await coveredAtMs(size)) - beganMs;
  assert.ok(elapsedMs > 0.9 * 20 * SIGNING_MS * rounds, `only ${elapsedMs} ms`);
  // The pause is not added to that.
  assert.ok(elapsedMs < 1.5 * 20 * SIGNING_MS * rounds, `even ${elapsedMs} ms`);
  await store.close();
});

test('a log that was put back to an earlier state is refused, and the others are not', async () => {
  const directory = newPlace();
  const earlier = newPlace();
  {
    const store = await open(directory);
    await store.fill('acme', 2);
    await store.fill('other', 2);
    await Promise.all([store.covers('acme', 2), store.covers('other', 2)]);
    await store.close();
    cpSync(join(directory, 'journal.db'), join(earlier, 'journal.db'));
  }
  {
    const store = await open(directory);
    await store.fill('acme', 3);
    await store.covers('acme', 5);
    await store.close();
  }
  cpSync(join(earlier, 'journal.db'), join(directory, 'journal.db'));
  {
    const store = await open(directory);
    assert.match(
      store.checkpointer.refusalOf('acme')!,
      /signed with 5 entries and has 2\..*recover --new-epoch/,
    );
    assert.equal(store.checkpointer.refusalOf('other'), undefined);
    assert.equal(store.checkpointer.figures().refusedTenants, 1);
    await store.fill('other', 1);
    await store.covers('other', 3);
    // A log that continues nevertheless gets no signature: it would be a fork.
    await store.fill('acme', 9);
    await store.fill('other', 1);
    await store.covers('other', 4);
    assert.equal((await store.latest('acme'))!.size, 2);
    await store.close();
  }
  // Now it has its earlier length, with another history.
  const store = await open(directory);
  assert.match(store.checkpointer.refusalOf('acme')!, /being compared|not those that were signed/);
  const refusals = () => store.lines.filter((line) => line.includes('the log of a tenant is refused'));
  await until(() => refusals().length > 0);
  // This is an expected state: a stack trace does not help an operator.
  assert.doesNotMatch(refusals()[0]!, /"stack"|\n +at /);
  assert.match(
    store.checkpointer.refusalOf('acme')!,
    /the first 5 entries of \S+ are not those that were signed with root [0-9a-f]{64}: theirs is [0-9a-f]{64}\./,
  );
  await store.close();
});

test('a bit of an entry that flips before it is signed is found, and nothing of that log is signed any more', async () => {
  const directory = newPlace();
  const open1 = await open(directory);
  await open1.fill('acme', 3);
  await open1.covers('acme', 3);
  await open1.close();
  const hold = await open(directory, {
    tree: (tree) => ({ ...tree, readGrowth: async () => ({ grown: [], faults: [], hasMore: false }) }),
  });
  await hold.fill('acme', 3);
  await hold.close();
  using db = new DatabaseSync(join(directory, 'journal.db'));
  db.exec('DROP TRIGGER entries_do_not_change');
  const { entry } = db.prepare('SELECT entry FROM entries WHERE leaf_index = 4').get() as {
    entry: Uint8Array;
  };
  entry[100]! ^= 1;
  db.prepare('UPDATE entries SET entry = ? WHERE leaf_index = 4').run(entry);
  const store = await open(directory);
  await until(() => store.checkpointer.refusalOf('acme') !== undefined);
  assert.match(store.checkpointer.refusalOf('acme')!, /entry 4 is not what was hashed/);
  assert.equal((await store.latest('acme'))!.size, 3);
  assert.ok(store.lines.some((line) => line.includes('"tenant":"acme"')));
  await store.close();
});

test('callers that wait for a checkpoint are told when the deadline passes or the service stops', async () => {
  const store = await open(newPlace());
  await store.storage.tenants.ensure('acme', NOW_MS);
  const deadline = new Deadline();
  const isPublished = async () => false;
  const late = store.checkpointer.covers({ tenant: 'acme', size: 1, deadline }, isPublished);
  deadline.pass(new Error('too late'));
  await assert.rejects(late, /too late/);
  const stopped = store.checkpointer.covers(
    { tenant: 'acme', size: 1, deadline: new Deadline() },
    isPublished,
  );
  const told = assert.rejects(stopped, /The service is stopping/);
  await store.close();
  await told;
});

test('a log whose anchor was lost is refused, and stays so over restarts', async () => {
  const directory = newPlace();
  const before = await open(directory);
  await before.fill('acme', 1);
  await before.covers('acme', 1);
  await before.close();
  rmSync(join(directory, 'anchor'));
  for (let restart = 1; restart <= 2; restart++) {
    const store = await open(directory);
    assert.match(
      store.checkpointer.refusalOf('acme') ?? '',
      /the anchor knows nothing of it, .*--accept-lost-anchor/,
    );
    await store.close();
  }
});

/** Three entries of acme that are signed and anchored; the checkpoint was never stored. */
async function signUnstored(directory: string): Promise<void> {
  const unstored = (tree: Storage['tree']): Storage['tree'] => ({
    ...tree,
    publish: () => Promise.reject(new Error('the disk is full')),
  });
  const store = await open(directory, { tree: unstored });
  await store.fill('acme', 3);
  await until(() => headOf(store.anchor, 'acme') !== undefined);
  await store.close();
}

async function until(isSo: () => boolean): Promise<void> {
  for (let turns = 0; !isSo(); turns++) {
    assert.ok(turns < 60_000, 'it does not come');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
