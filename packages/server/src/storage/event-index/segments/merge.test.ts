// A merge makes what would have been made at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { said } from '../testing/any-question.ts';
import { mergeSegments } from './merge.ts';
import { segmentOf } from '../testing/memory-pieces.ts';
import { eventsOf } from '../testing/searched-events.ts';

test('a merge of any segments is, byte for byte, the segment of all their events', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(said, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 6 }),
      async (groups) => {
        const events = eventsOf(groups.flat());
        let first = 0;
        const segments = groups.map(({ length }) => {
          first += length;
          return segmentOf(events.slice(first - length, first), first - length);
        });
        const blocks: Buffer[] = [];
        const footer = await mergeSegments(segments, (raw) => blocks.push(raw));
        const whole = segmentOf(events, 0);
        assert.deepEqual(footer, whole.footer);
        assert.deepEqual(blocks, whole.blocks);
      },
    ),
    { numRuns: 60 },
  );
});
