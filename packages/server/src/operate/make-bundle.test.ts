import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  type BundleVerdict,
  type HostHashing,
  KINDS,
  noteVerifier,
  pooledContentsOf,
  subtreeHashes,
  toBase64,
  type Trust,
  verifyBundle,
} from '@tallystick/evidence';
import * as fc from 'fast-check';
import { systemClock } from '../runtime/clock.ts';
import { StartError } from '../start-error.ts';
import { readInstallation } from '../storage/sqlite/connection/meta.ts';
import { openJournalForReading } from '../storage/sqlite/connection/database.ts';
import { TreeTables } from '../storage/sqlite/tree/tree-tables.ts';
import { draftNotice } from '../streams/append/notice.ts';
import { nextId, openSignedLogs, type SignedLogs } from '../testing/signed-log.ts';
import { type BundleWish, openBundle } from './make-bundle.ts';

const SEED = 20261115;
/** The long form has a second level of tiles that are full. */
const MANY = process.env['FAULTS'] === 'long' ? 70_000 : 6000;

interface Made {
  readonly verdict: BundleVerdict;
  readonly uncovered: number;
  readonly text: string;
}

/** Makes a bundle and verifies it with the key that it says. */
async function make(
  logs: SignedLogs,
  part: BundleWish['part'] = {},
  more: Partial<BundleWish> & { readonly trust?: Partial<Trust>; readonly host?: HostHashing } = {},
): Promise<Made> {
  const { trust, host, ...wish } = more;
  await using bundle = await openBundle(logs.config, {
    tenant: 'acme',
    part,
    withholdContent: false,
    waitMs: 0,
    ...wish,
  });
  const chunks: Uint8Array[] = [];
  for await (const lines of bundle.lines()) chunks.push(...lines);
  assert.deepEqual(bundle.verifierKeys, [logs.verifierKey(wish.tenant ?? 'acme')]);
  const verifiers = await Promise.all(bundle.verifierKeys.map(noteVerifier));
  const verdict = await verifyBundle(chunks, { verifiers, ...trust }, host);
  assert.deepEqual([verdict.from + 1, verdict.to], [bundle.from, bundle.to]);
  return { verdict, uncovered: bundle.uncovered, text: Buffer.concat(chunks).toString() };
}

const WHOLE = { trust: { allowWithheld: false } } as const;
/** As the command hashes: the verifier's own hashing takes half a minute for them. */
const fast = () => ({ host: { checksum: createHash('sha256'), contentsOf: pooledContentsOf } });

async function refusal(logs: SignedLogs, part: BundleWish['part'], more: Partial<BundleWish> = {}) {
  try {
    await make(logs, part, more);
  } catch (error) {
    assert.ok(error instanceof StartError, String(error));
    return error.message;
  }
  throw new Error('it was made');
}

/** Says that the contents from one index up to another were removed; a purge is about what stands before it. */
async function appendPurge(logs: SignedLogs, from: number, to: number): Promise<void> {
  using db = openJournalForReading(logs.directory);
  const trees = new TreeTables(db, readInstallation(db)!.logOrigin);
  const hashes = subtreeHashes({ begin: from, end: to }, trees.hashes(trees.log('acme')!, to));
  const facts = {
    kind: KINDS.purge,
    action: 'Purge.Events',
    resource: { resourceType: 'Log', resourceId: 'acme' },
    payload: {
      policyId: null,
      policyVersion: null,
      cause: 'Retention' as const,
      ranges: [[from, to] as [number, number]],
      count: to - from,
      subtrees: hashes.map(toBase64),
    },
    correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  };
  await logs.append('acme', [draftNotice(facts, { eventId: nextId(), nowMs: systemClock.now() })]);
}

describe('a bundle from a data directory', () => {
  it('verifies for logs of every width of tiles, with nothing withheld', async () => {
    await using logs = await openSignedLogs('acme');
    let size = 0;
    for (const next of [1, 255, 256, 257]) {
      await logs.fill('acme', next - size);
      await logs.publish();
      size = next;
      const { verdict, uncovered } = await make(logs, {}, WHOLE);
      assert.deepEqual([verdict.entries, verdict.open, uncovered], [size, size, 0]);
    }
  });

  it(`verifies for ${MANY} events and for parts of them around the edges of tiles`, async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', MANY);
    await logs.publish();
    assert.equal((await make(logs, {}, { ...WHOLE, ...fast() })).verdict.open, MANY);
    for (const [from, to] of [
      [1, 1],
      [256, 257],
      [MANY - 1500, MANY - 1499],
      [MANY - 3000, MANY],
      [MANY, MANY],
    ] as const) {
      const { verdict } = await make(logs, { from, to }, { ...WHOLE, ...fast() });
      assert.deepEqual([verdict.from, verdict.to, verdict.checkpoint.size], [from - 1, to, MANY]);
    }
  });

  it(`verifies for any part (seed ${SEED})`, async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 300);
    await logs.publish();
    const edge = fc.integer({ min: 1, max: 300 });
    await fc.assert(
      fc.asyncProperty(edge, edge, async (a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        assert.equal((await make(logs, { from, to }, WHOLE)).verdict.open, to - from + 1);
      }),
      { seed: SEED, numRuns: 25 },
    );
  });

  it('holds a sealed stream with its seal, the open one, and no stream of another tenant', async () => {
    await using logs = await openSignedLogs('acme', 'other');
    await logs.fill('acme', 5);
    await logs.fill('other', 2);
    const [first] = await logs.storage.log.forTenant('acme').streams({ after: undefined }, 1);
    const nowMs = systemClock.now();
    const { streamId } = first!;
    await logs.storage.log.seal({ tenant: 'acme', streamId }, { nowMs, steadyNowMs: nowMs });
    await logs.fill('acme', 3);
    await logs.publish();
    const sealed = await make(logs, { streamId });
    assert.deepEqual([sealed.verdict.from, sealed.verdict.to], [0, 6]);
    const [, open] = await logs.storage.log.forTenant('acme').streams({ after: undefined }, 2);
    const rest = await make(logs, { streamId: open!.streamId });
    assert.deepEqual([rest.verdict.from, rest.verdict.to], [6, 9]);
    assert.match(await refusal(logs, { streamId }, { tenant: 'other' }), /tenant other has no stream/);
  });

  it('can show context and payload by their root alone', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 3);
    await logs.publish();
    const { verdict, text } = await make(logs, {}, { withholdContent: true });
    assert.deepEqual([verdict.open, verdict.withheld], [0, 3]);
    assert.ok(!text.includes('/payload') && !text.includes('203.0.113.7'));
    assert.ok(text.includes('ana@example.com'));
  });
});

describe('what is deleted', () => {
  it('is marked so, and explained by the notice, inside the range or behind it', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 300);
    await appendPurge(logs, 10, 20);
    await logs.fill('acme', 5);
    logs.removeContents('acme', 10, 20);
    await logs.publish();
    for (const part of [{}, { from: 5, to: 100 }, { from: 12, to: 15 }]) {
      const { verdict } = await make(logs, part, WHOLE);
      assert.deepEqual(verdict.explainedBy, [300]);
      assert.equal(verdict.deleted, 'from' in part && part.from === 12 ? 4 : 10);
    }
    const beside = await make(logs, { from: 21, to: 100 }, WHOLE);
    assert.deepEqual([beside.verdict.deleted, beside.text.includes('{"k":')], [0, false]);
  });

  it('without a notice under the checkpoint gives no bundle', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 30);
    await logs.publish();
    await appendPurge(logs, 10, 20);
    const before = await make(logs);
    assert.deepEqual(
      [before.verdict.open, before.verdict.withheld, before.verdict.deleted],
      [20, 10, 0],
      'it is still there, and nobody sees it any more',
    );
    logs.removeContents('acme', 10, 20);
    assert.match(await refusal(logs, {}), /content of entry 10 is gone and no later notice/);
    await logs.publish();
    assert.equal((await make(logs, { from: 1, to: 30 })).verdict.deleted, 10);
  });
});

describe('what no checkpoint covers', () => {
  it('is not in the bundle, and is said to be missing', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 4);
    assert.match(await refusal(logs, {}), /no checkpoint covers sequence 4 yet.*covered: none yet/);
    await logs.publish();
    await logs.fill('acme', 2);
    const { verdict, uncovered } = await make(logs);
    assert.deepEqual([verdict.to, uncovered], [4, 2]);
    assert.match(await refusal(logs, { from: 2, to: 6 }), /sequence 6 yet.*covered: sequence 1 to 4/);
    assert.match(await refusal(logs, { from: 5 }), /no checkpoint covers/);
    assert.match(await refusal(logs, { from: 2, to: 7 }), /ends with sequence 6; 7 is behind it/);
  });

  it('can be waited for', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 4);
    assert.match(await refusal(logs, {}, { waitMs: 60 }), /does the service run\?/);
    const made = make(logs, {}, { waitMs: 10_000 });
    await logs.publish();
    assert.deepEqual([(await made).verdict.to, (await made).uncovered], [4, 0]);
  });

  it('is not there at all for a tenant that nobody knows, or has no events', async () => {
    await using logs = await openSignedLogs('acme');
    assert.match(await refusal(logs, {}), /there are no events/);
    assert.match(await refusal(logs, {}, { tenant: 'nobody' }), /there is no tenant nobody/);
  });
});

describe('a service that goes on', () => {
  it('changes nothing in a bundle that is being made', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 10);
    await logs.publish();
    const wish = { tenant: 'acme', part: {}, withholdContent: false, waitMs: 0 };
    await using bundle = await openBundle(logs.config, wish);
    await logs.fill('acme', 10);
    await logs.publish();
    logs.removeContents('acme', 0, 5);
    const verifiers = [await noteVerifier(logs.verifierKey('acme'))];
    const chunks: Uint8Array[] = [];
    for await (const lines of bundle.lines()) chunks.push(...lines);
    const verdict = await verifyBundle(chunks, { verifiers, allowWithheld: false });
    assert.deepEqual([verdict.open, verdict.checkpoint.size], [10, 10]);
  });
});
