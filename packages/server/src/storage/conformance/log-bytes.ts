// Claims that the hashed, the stored and the returned bytes are the same, for events of any shape.

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CLASSIFICATIONS } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { append, type Claims, draftOf, openWith, request, soundContent, textsOf } from './claims.ts';
import { recompute } from './log-chain.ts';

const SEED = 20260101;
/** Few, for each way to run a backend; the test of faults of the same name sends many more to the service. */
const RUNS = 30;

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }).filter((any) => any.isWellFormed()),
);
const { content } = fc.letrec((tie) => ({
  content: fc.dictionary(text, tie('value'), { maxKeys: 8, noNullPrototype: true }),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(null, true, false, -0, 1e21, 5e-324, 9007199254740991, '\u2028', '\ufeff'),
    fc.array(tie('value'), { maxLength: 5 }),
    tie('content'),
  ),
}));
const event = fc.record(
  {
    action: text,
    actor: fc.record({ actorType: fc.constant('User'), userId: text, userName: text }),
    context: content,
    payload: fc.oneof(content, fc.array(text)),
  },
  { requiredKeys: ['action'] },
);

export const byteClaims: Claims = {
  'hashed, stored and returned bytes are the same, for any event': async (place) => {
    await using storage = await openWith(place, 'acme');
    const log = storage.log.forTenant('acme');
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 8 }), async (events) => {
        const drafts = events.map((one) => draftOf(one));
        await append(storage, request('acme', drafts));
        for (const [i, draft] of drafts.entries()) {
          const stored = await log.event(draft.eventId, CLASSIFICATIONS);
          assert.deepEqual(soundContent(stored).texts, textsOf(draft));
          const { context, payload, ...rest } = { outcome: 'Success', ...events[i]! };
          const second = {
            ...(context === undefined ? {} : { context }),
            ...(payload === undefined ? {} : { payload }),
          };
          assert.deepEqual(textsOf(draft), [canonicalJson(rest), canonicalJson(second)]);
        }
        count += drafts.length;
      }),
      { seed: SEED, numRuns: RUNS },
    );
    assert.equal(recompute(await place.rows('acme'), 'acme', 'audit.example.com'), count);
  },
};
