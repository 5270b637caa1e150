// Nodes that sign, anchor and store during a comparison. recovery.test.ts covers a store that was put back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnchoredHead } from './anchor.ts';
import { AnchorComparison } from './comparison.ts';
import { contradictionOf } from './divergence.ts';
import type { LogTree, Standing } from '../tree.ts';

const LOG_ORIGIN = 'audit.example.com';

const root = (size: number, history = 0) => new Uint8Array(32).fill(size + history);
const head = (tenant: string, size: number, history = 0): AnchoredHead => ({
  origin: `${LOG_ORIGIN}/t/${tenant}`,
  size,
  root: root(size, history),
});

function standing(tenant: string, entries: number, signed?: number, epoch = 0): Standing {
  const { origin } = head(tenant, 0);
  const checkpoint = signed === undefined ? undefined : { size: signed, root: root(signed) };
  return { tenant, origin, epoch, firstIndex: 0, entries, checkpoint };
}

interface World {
  anchored: AnchoredHead[];
  stored: Standing[];
  forks?: Map<string, string>;
  /** Called before the n-th read of the anchor, and before each read of the store. */
  onRefresh?: (nth: number) => void;
  onStandings?: () => void;
}

async function compare(world: World) {
  let known: AnchoredHead[] = [];
  let refreshes = 0;
  const warnings: string[] = [];
  const stops: [string, number][] = [];
  const refresh = async () => {
    world.onRefresh?.(++refreshes);
    known = [...world.anchored];
  };
  const comparison = await AnchorComparison.make({
    anchor: {
      heads: () => new Map(known.map((each) => [each.origin, each])),
      forks: () => world.forks ?? new Map(),
      history: async () => Map.groupBy(known, ({ origin }) => origin),
      refresh,
    },
    tree: {
      async standings() {
        world.onStandings?.();
        return world.stored;
      },
      async stopAt(tenant, size) {
        stops.push([tenant, size]);
      },
      forTenant: () => ({
        tree: async () =>
          ({
            firstIndex: 0,
            root: async (size: number) => root(size),
            latest: async () => undefined,
          }) as unknown as LogTree,
      }),
    },
    telemetry: { warn: (message) => void warnings.push(message) },
    logOrigin: LOG_ORIGIN,
  });
  return { comparison, warnings, stops, refresh };
}

test('nodes that continue between the two reads cause no finding', async () => {
  const world: World = { anchored: [head('acme', 5)], stored: [standing('acme', 5, 5)] };
  world.onStandings = () => {
    world.anchored = [head('acme', 9), head('fresh', 1)];
    world.stored = [standing('acme', 9, 9), standing('fresh', 1, 1)];
  };
  const { comparison, warnings } = await compare(world);
  assert.deepEqual([comparison.found, warnings, comparison.isSettled], [[], [], true]);
});

const unanchored = (comparison: AnchorComparison) =>
  comparison.unanchored.map(({ tenant, signed, anchoredSize }) => [tenant, signed.size, anchoredSize]);

test('a log that is still signed beyond its anchor at the second read is reported as unanchored', async () => {
  const world: World = { anchored: [head('acme', 5)], stored: [standing('acme', 9, 9)] };
  const { comparison, warnings } = await compare(world);
  assert.deepEqual([comparison.found, warnings], [[], []]);
  assert.deepEqual(unanchored(comparison), [['acme', 9, 5]]);
  assert.match(
    comparison.unanchored[0]!.message,
    /^it was signed with 9 entries, and the anchor knows only 5 of them, .*--accept-lost-anchor`\.$/,
  );
});

test('a log that is missing from an anchor with other logs is reported as unanchored, the others are not', async () => {
  const world: World = {
    anchored: [head('acme', 5)],
    stored: [standing('acme', 5, 5), standing('beta', 3, 2), standing('fresh', 1)],
  };
  const { comparison } = await compare(world);
  assert.deepEqual([comparison.found, unanchored(comparison)], [[], [['beta', 2, 0]]]);
});

test('an epoch that is not signed yet is anchored by the log before it, and by nothing less', async () => {
  const begun = { ...standing('acme', 1, undefined, 1), origin: `${head('acme', 0).origin}/1` };
  const before = await compare({ anchored: [head('acme', 5)], stored: [begun] });
  assert.deepEqual([before.comparison.found, unanchored(before.comparison)], [[], []]);
  const lost = await compare({ anchored: [head('beta', 5)], stored: [begun, standing('beta', 5, 5)] });
  assert.deepEqual([lost.comparison.found, unanchored(lost.comparison)], [[], [['acme', 0, 0]]]);
  const signed = { ...begun, checkpoint: { size: 1, root: root(1) } };
  const older = await compare({ anchored: [head('acme', 5)], stored: [signed] });
  assert.deepEqual(unanchored(older.comparison), [['acme', 1, 0]]);
});

test('a log that another node has signed beyond the anchor is reported when it is taken over, and continues', async () => {
  const world: World = { anchored: [head('acme', 5)], stored: [standing('acme', 5, 5)] };
  const { comparison, warnings } = await compare(world);
  const { found } = await comparison.compareTaken([standing('acme', 9, 9)]);
  assert.deepEqual([found, unanchored(comparison)], [[], []]);
  assert.deepEqual(warnings, ['the previous node signed a log beyond its anchor']);
});

test('an anchor that another node has just created does not count as lost', async () => {
  const world: World = { anchored: [], stored: [] };
  world.onStandings = () => {
    world.anchored = [head('acme', 1)];
    world.stored = [standing('acme', 1, 1)];
  };
  assert.deepEqual(unanchored((await compare(world)).comparison), []);
  const lost = await compare({ anchored: [], stored: [standing('acme', 1, 1), standing('beta', 1)] });
  assert.deepEqual(
    unanchored(lost.comparison),
    [
      ['acme', 1, 0],
      ['beta', 0, 0],
    ],
    'beta may have been put back to before its first checkpoint',
  );
});

test('heads that were anchored before the store was read must be in the store', async () => {
  const { comparison } = await compare({ anchored: [head('acme', 5)], stored: [standing('acme', 3, 3)] });
  assert.deepEqual(
    comparison.found.map(({ tenant, kind, entries }) => [tenant, kind, entries]),
    [['acme', 'Behind', 3]],
  );
  const early: World = { anchored: [head('acme', 5)], stored: [standing('acme', 3, 3)] };
  // Committed, signed and anchored by another node, before this one looks at the store.
  early.onStandings = () => (early.stored = [standing('acme', 7, 3)]);
  const { comparison: later, stops } = await compare(early);
  assert.deepEqual([later.found, stops, later.unsettled], [[], [['acme', 5]], ['acme']]);
});

test('logs that are taken over are compared again, and no others', async () => {
  const stranger = { ...head('x', 1), origin: 'elsewhere/t/x' };
  const both = [standing('acme', 5, 5), standing('beta', 5, 5)];
  const world: World = { anchored: [head('acme', 5), head('beta', 5), stranger], stored: both };
  const { comparison, warnings } = await compare(world);
  assert.deepEqual([comparison.found.length, warnings.length], [0, 1]);
  const { found, unreadable } = await comparison.compareTaken([standing('beta', 3, 3)]);
  assert.deepEqual(
    found.map(({ tenant, kind }) => [tenant, kind]),
    [['beta', 'Behind']],
  );
  assert.deepEqual([unreadable.size, warnings.length], [0, 1], 'strangers are told once');
});

test('a log that is taken over must reach the heads that were anchored and not stored', async () => {
  const world: World = { anchored: [head('acme', 5)], stored: [standing('acme', 5, 5)] };
  const { comparison, stops } = await compare(world);
  const { found } = await comparison.compareTaken([standing('acme', 7, 3)]);
  assert.deepEqual([found, stops, comparison.unsettled], [[], [['acme', 5]], ['acme']]);
  const heads = [head('acme', 5, 1), head('acme', 7)];
  assert.match(JSON.stringify(comparison.judge({ tenant: 'acme', heads })), /OtherHistory/);
});

test('a log that is read here must reach the heads that another node anchors meanwhile', async () => {
  const world: World = { anchored: [head('acme', 5)], stored: [standing('acme', 5, 5)] };
  const { comparison, stops, refresh } = await compare(world);
  const grown = (...sizes: number[]) => ({
    tenant: 'acme',
    epoch: 0,
    heads: sizes.map((size) => head('acme', size)),
  });
  assert.equal(await comparison.mustPass(grown(9)), false, 'what was anchored is known');
  world.anchored = [head('acme', 7)];
  await refresh();
  assert.equal(await comparison.mustPass(grown(6)), false, 'it has not come so far');
  assert.equal(await comparison.mustPass(grown(7, 9)), false, 'it is among those that are signed');
  assert.equal(await comparison.mustPass(grown(9)), true);
  assert.deepEqual([stops, comparison.unsettled], [[['acme', 7]], ['acme']]);
  assert.equal(comparison.judge(grown(7, 9)), 'Sound');
  assert.equal(await comparison.mustPass(grown(11)), false, 'it has passed');
  world.anchored = [head('acme', 12)];
  await refresh();
  comparison.anchored([head('acme', 12)]);
  assert.equal(await comparison.mustPass(grown(13)), false, 'it was this node');
});

test('an anchored fork refuses its own log only', async () => {
  const forks = new Map([[head('acme', 5).origin, 'two histories of acme were signed.']]);
  const world: World = {
    anchored: [head('acme', 5), head('beta', 5)],
    stored: [standing('acme', 5, 5), standing('beta', 5, 5)],
    forks,
  };
  const { comparison } = await compare(world);
  assert.deepEqual(
    comparison.found.map(({ tenant, kind, message }) => [tenant, kind, message]),
    [['acme', 'OtherHistory', 'two histories of acme were signed.']],
  );
});

test('heads are compared with those of other nodes before they are signed', () => {
  const anchor = {
    heads: () => new Map([[head('acme', 5).origin, head('acme', 5)]]),
    forks: () => new Map([[head('beta', 1).origin, 'a fork']]),
  };
  for (const sound of [head('acme', 4), head('acme', 5), head('acme', 6, 1), head('fresh', 5, 1)])
    assert.equal(contradictionOf([sound], anchor), undefined);
  assert.equal(contradictionOf([head('beta', 9)], anchor), 'a fork');
  const other = contradictionOf([head('acme', 4), head('acme', 5, 1), head('acme', 9)], anchor);
  assert.match(other!, /^the first 5 entries of audit.example.com\/t\/acme are not those that were signed/);
});
