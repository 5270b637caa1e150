// What an export makes of an index that is behind the log, or that knows nothing of what was removed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Found, IndexState, Question } from '../events/event-index.ts';
import type { Deletion } from '../streams/removal/removal.ts';
import { createFakeClock } from '../testing/fake-clock.ts';
import { type Asked, piecesFound, type PieceParts, type Waiting } from './pieces.ts';
import { nothingBefore, type Piece, type ShapingPlan, type Source } from './shaping.ts';

const END_INDEX = 1000;
const PLAN = { tenant: 'acme', fromIndex: 0, endIndex: END_INDEX } as ShapingPlan;
const QUESTION = { order: [] } as unknown as Asked;
const STATE: IndexState = {
  generation: 1,
  indexedEvents: END_INDEX,
  pendingEvents: 0,
  lagMs: 0,
  isRebuilding: false,
};

interface Case {
  /** How far the index has come, each time that somebody asks; then as the last time. */
  readonly reached: number[];
  readonly deletions?: readonly Deletion[];
  readonly waiting?: Partial<Waiting>;
}

/** The indexes of the events that the export has. */
async function exported({ reached, deletions = [], waiting }: Case): Promise<number[]> {
  const clock = createFakeClock();
  const stateNow = () => ({
    ...STATE,
    indexedEvents: reached.length > 1 ? reached.shift()! : reached[0]!,
  });
  const found = ({ beyond }: Pick<Question, 'beyond'>): Found => {
    const state = stateNow();
    const index = (beyond?.index ?? -1) + 400;
    const place = { atMs: 0, atNs: 0, action: '', eventId: '', index };
    const events = index < state.indexedEvents ? [{ place, stored: { index } }] : [];
    return { events, isCut: false, total: 2, state } as unknown as Found;
  };
  const parts: PieceParts = {
    shaping: {
      shape: async (_, source: Source) =>
        ({ source, events: 1, withheld: { clearance: 0, purged: 0 } }) as unknown as Piece,
    },
    index: {
      forTenant: () =>
        ({ state: async () => stateNow(), find: async (asked: Question) => found(asked) }) as never,
    },
    removal: {
      deletions: async (_, { firstIndex, endIndex }, limit) =>
        deletions.filter((each) => each.endIndex > firstIndex && each.firstIndex < endIndex).slice(0, limit),
    },
    clock,
  };
  const whole = { signal: new AbortController().signal, requireWanted: async () => {}, ...waiting };
  const indexes: number[] = [];
  const pieces = piecesFound(PLAN, QUESTION, whole, parts);
  const made = (async () => {
    for await (const { piece } of pieces(undefined, nothingBefore(false))) {
      const { source } = piece as unknown as { source: Extract<Source, { of: 'Found' }> };
      indexes.push(...source.events.map(({ index }) => index));
    }
  })();
  made.catch(() => {});
  await clock.advance(3_600_000);
  await made;
  return indexes;
}

test('an export waits until the index has all of its snapshot, on each page', async () => {
  assert.deepEqual(await exported({ reached: [END_INDEX] }), [399, 799]);
  const thrownAway = [END_INDEX, END_INDEX, 0, 0, 500, END_INDEX, 300, END_INDEX];
  assert.deepEqual(await exported({ reached: thrownAway }), [399, 799]);
  assert.deepEqual(await exported({ reached: [0, 0, 100, 500, 999, END_INDEX] }), [399, 799]);
});

test('an index that comes no further is not waited for without end', async () => {
  await assert.rejects(exported({ reached: [0, 10, 500] }), {
    reason: 'Timeout',
    isRetriable: true,
    message: /the first 500 events of this tenant, and the export needs 1000/,
  });
});

test('one that is not wanted any more is not waited for', async () => {
  const requireWanted = () => Promise.reject(new Error('it was deleted'));
  await assert.rejects(exported({ reached: [0], waiting: { requireWanted } }), /it was deleted/);
});

test('an export fails if content of its snapshot was removed since, and not if it was before', async () => {
  const before = { firstIndex: 3, endIndex: 5, noticeIndex: 900 };
  assert.deepEqual(await exported({ reached: [END_INDEX], deletions: [before] }), [399, 799]);
  const many = Array.from({ length: 990 }, (_, i) => ({ firstIndex: i, endIndex: i + 1, noticeIndex: 995 }));
  const since = { firstIndex: 992, endIndex: 2000, noticeIndex: 2001 };
  await assert.rejects(exported({ reached: [END_INDEX], deletions: [...many, since] }), {
    reason: 'RetentionPurged',
    isRetriable: true,
    message: /The content of event 993 was removed/,
  });
});
