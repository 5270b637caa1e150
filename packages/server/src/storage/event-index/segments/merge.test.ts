// A merge makes what would have been made at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { said } from '../testing/any-question.ts';
import { type MemorySegment, segmentOf } from '../testing/memory-pieces.ts';
import type { Said } from '../testing/plain-definition.ts';
import { eventsOf } from '../testing/searched-events.ts';
import { mergeSegments } from './merge.ts';

/** Of some events the content is removed. */
const groups = fc.array(fc.array(fc.option(said, { nil: undefined }), { minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 6,
});
const RUNS = { numRuns: 60 };

interface Part {
  readonly events: readonly (QueriedEvent | undefined)[];
  readonly first: number;
}

function partsOf(given: readonly (readonly (Said | undefined)[])[]): Part[] {
  const all = given.flat();
  const present = eventsOf(all.filter((each) => each !== undefined));
  let next = 0;
  const events = all.map((each) => (each === undefined ? undefined : present[next++]));
  let first = 0;
  return given.map(({ length }) => {
    first += length;
    return { events: events.slice(first - length, first), first: first - length };
  });
}

test('a merge of any segments is, byte for byte, the segment of all their events', async () => {
  await fc.assert(
    fc.asyncProperty(groups, async (given) => {
      const parts = partsOf(given);
      const blocks: Buffer[] = [];
      const segments = parts.map(({ events, first }) => segmentOf(events, first));
      const footer = await mergeSegments(segments, (raw) => blocks.push(raw));
      requireWhole({ footer, blocks }, parts);
    }),
    RUNS,
  );
});

function requireWhole(made: Pick<MemorySegment, 'footer' | 'blocks'>, parts: readonly Part[]): void {
  const whole = segmentOf(
    parts.flatMap(({ events }) => events),
    0,
  );
  assert.deepEqual(made.footer, whole.footer);
  assert.deepEqual(made.blocks, whole.blocks);
}
