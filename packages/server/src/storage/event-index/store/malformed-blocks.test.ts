// Blocks that are not what was written: as a disk changes them, and as somebody does who knows how they are made. A search
// answers, or says that the segment is damaged, so that it is made again; so does a merge, and a comparison names it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Aggregation } from '@tallystick/contract';
import * as fc from 'fast-check';
import type { Found, Question } from '../../../events/event-index.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import { mergeSegments } from '../segments/merge.ts';
import { said } from '../testing/any-question.ts';
import { MemoryLog, MemorySegmentStore, SEGMENT, TENANT } from '../testing/memory-index.ts';
import { questionOf } from '../testing/plain-definition.ts';
import { eventsOf } from '../testing/searched-events.ts';
import { DamagedSegment } from './block-cache.ts';
import { faultOfSegment } from './compare.ts';
import { openUncached } from './open-segment.ts';
import { Searches } from './searches.ts';

/** So many that lists are beside their terms, in streams, and written as bits. */
const EVENTS = 300;
const SEED = 20_261_118;
/** Of each block, so many places are changed. */
const PLACES = 2;
/** After each change so many questions are asked, in turn. */
const ASKED = 4;
const NOW_MS = Date.UTC(2026, 5, 1);

const AGGREGATIONS: readonly Aggregation[] = ['byAction', 'byActor', 'byResource', 'byOutcome', 'byDay'];
const asking = (text: string, more: Partial<Question> = {}) => ({ query: parseQuery(text).query!, ...more });
const by = (field: 'timestamp' | 'action' | 'eventId', isDescending = true) => ({
  order: [{ field, isDescending }],
});

/** All that a segment is read for. */
const QUESTIONS: readonly Partial<Question>[] = [
  asking('refund'),
  asking('re*', { aggregations: AGGREGATIONS }),
  asking('"a refund"'),
  asking('refund-n*', by('action')),
  asking('-n7', by('eventId')),
  asking('payload.list:>5'),
  asking('timestamp:>=2026-01-02 actor:acme'),
  asking('eventId:01*', by('action', false)),
  { filters: { actions: ['Delete.*'] }, order: 'Relevance' },
  { aggregations: AGGREGATIONS, rowsMax: 5 },
];

const events = eventsOf(
  fc.sample(said, { numRuns: EVENTS, seed: SEED }).map((each, i) => ({
    ...each,
    // In another order than that of the log.
    eventId: `01${String((i * 7919) % 1000).padStart(24, '0')}`,
    context: {},
    payload: { note: `a refund n${i} of many`, list: [i % 12] },
  })),
);
const log = new MemoryLog(events).asPort();

async function answers(store: MemorySegmentStore, asked: Partial<Question>): Promise<unknown> {
  // Walked where more match than this, so that orders are read, too.
  const searches = new Searches(store.asPort(), log, { gatheredMax: 100 });
  const never = { throwIfPassed() {} };
  const { found } = await searches.find(TENANT, questionOf(asked), NOW_MS, never);
  return told(found);
}

function told({ total, events: rows, aggregations }: Found): unknown {
  return { total, rows: rows.map(({ place }) => place.index), aggregations };
}

type Outcome = 'Answered' | 'Damaged';

/** Throws for any other error. */
async function outcomeOf(act: () => Promise<unknown>, what: string): Promise<Outcome> {
  try {
    await act();
    return 'Answered';
  } catch (error) {
    if (error instanceof DamagedSegment && error.segment === SEGMENT) return 'Damaged';
    throw new Error(`${what} (seed ${SEED})`, { cause: error });
  }
}

interface Change {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Flipped, cut and extended, at places that differ from run to run by the seed alone. */
function* changesOf(bytes: Buffer, seed: number, places: number): Generator<Change> {
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let i = 0; i < places; i++) {
    const at = random(bytes.length);
    const flipped = Buffer.from(bytes);
    flipped[at]! ^= 1 << random(8);
    yield { name: `flipped at ${at}`, bytes: flipped };
    const set = Buffer.from(bytes);
    set[at] = 0xff;
    yield { name: `all bits set at ${at}`, bytes: set };
    yield { name: `cut at ${at}`, bytes: bytes.subarray(0, at) };
  }
  yield { name: 'cut by its last byte', bytes: bytes.subarray(0, -1) };
  // Larger than any number that a block may have.
  const large = Buffer.from(bytes);
  large.fill(0xff, random(bytes.length)).fill(0x7f, bytes.length - 1);
  yield { name: 'with a large number', bytes: large };
  if (places === 0) return;
  for (const byte of [0, 1, 0xff])
    yield { name: `extended by ${byte}`, bytes: Buffer.concat([bytes, Buffer.alloc(4, byte)]) };
}

/** Calls it for each of some changes of each block. */
async function eachChange(
  store: MemorySegmentStore,
  places: number,
  act: (what: string, isSame: boolean) => Promise<void>,
): Promise<void> {
  for (const [block, { section, raw }] of store.blocks.entries())
    for (const { name, bytes } of changesOf(raw, SEED + block, places)) {
      store.change(block, bytes);
      await act(`block ${block} (${section ?? 'no section'}) ${name}`, bytes.equals(raw));
    }
}

test('whatever is changed in a block, and whatever is asked, a search answers, or says that it is damaged', async () => {
  const store = await MemorySegmentStore.of(events);
  for (const asked of QUESTIONS) {
    const { total } = (await answers(store, asked)) as Found;
    assert.ok(total > 0, `a control that finds nothing: ${JSON.stringify(asked)}`);
  }
  const outcomes = { Answered: 0, Damaged: 0 };
  let next = 0;
  await eachChange(store, PLACES, async (what) => {
    next += ASKED;
    for (const asked of [...QUESTIONS, ...QUESTIONS].splice(next % QUESTIONS.length, ASKED))
      outcomes[await outcomeOf(() => answers(store, asked), `${what}: ${JSON.stringify(asked)}`)]++;
  });
  // Control: the changes are neither all harmless nor all so large that nothing is read.
  assert.ok(outcomes.Answered > 100 && outcomes.Damaged > 100, JSON.stringify(outcomes));
});

test('a merge of a segment with such a block ends, or says that it is damaged', async () => {
  const store = await MemorySegmentStore.of(events);
  const merged = async () => {
    const segment = await openUncached(TENANT, store.listed, store.asPort(), store.keys);
    await mergeSegments([segment, segment], () => 1);
  };
  assert.equal(await outcomeOf(merged, 'nothing'), 'Answered');
  const outcomes = { Answered: 0, Damaged: 0 };
  await eachChange(store, 1, async (what) => void outcomes[await outcomeOf(merged, what)]++);
  assert.ok(outcomes.Answered > 10 && outcomes.Damaged > 10, JSON.stringify(outcomes));
});

test('a comparison with the log names a segment with such a block', async () => {
  const store = await MemorySegmentStore.of(events);
  const fault = () => faultOfSegment(TENANT, store.listed, { store: store.asPort(), log });
  assert.equal(await fault(), undefined);
  await eachChange(store, 0, async (what, isSame) =>
    assert.equal((await fault()) === undefined, isSame, what),
  );
});

test('a block that a disk has changed gives the right answer, or is damaged', async () => {
  const store = await MemorySegmentStore.of(events);
  const outcomes = { Answered: 0, Damaged: 0 };
  for (const asked of QUESTIONS) {
    const right = await answers(store, asked);
    for (const block of store.blocks.keys()) {
      const change = (stored: Buffer) => {
        const flipped = Buffer.from(stored);
        flipped[(SEED * (block + 1)) % stored.length]! ^= 1 << (block % 8);
        return flipped;
      };
      store.changeStored(block, change);
      const what = `stored block ${block}: ${JSON.stringify(asked)}`;
      outcomes[await outcomeOf(async () => assert.deepEqual(await answers(store, asked), right), what)]++;
    }
    store.changeStored(0, (stored) => stored);
  }
  assert.ok(outcomes.Answered > 10 && outcomes.Damaged > 10, JSON.stringify(outcomes));
});
