// Every bit of a bundle counts: each is turned in the long form, and one of each byte in the short one. By itself, because it
// takes longer than all other tests of bundles together.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EvidenceError } from '../errors.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import { IS_LONG } from '../testing/size.ts';
import type { Trust } from './trust.ts';
import { verifyBundle } from './verify-bundle.ts';

const BITS = [0, 1, 2, 3, 4, 5, 6, 7];

describe('any single bit', () => {
  it('of a bundle, turned, is noticed', async () => {
    const log = await SampleLog.create();
    for (let n = 0; n < 20; n++) log.append(sampleEvent(n));
    const trust: Trust = { verifiers: [log.verifier] };
    const bundle = await log.bundle({ from: 6, to: 7 });
    let refusals = 0;
    for (let at = 0; at < bundle.length; at++) {
      for (const bit of IS_LONG ? BITS : [BITS[at % BITS.length]!]) {
        const turned = bundle.slice();
        turned[at]! ^= 1 << bit;
        await assert.rejects(verifyBundle([turned], trust), EvidenceError, `byte ${at}, bit ${bit}`);
        refusals++;
      }
    }
    assert.equal(refusals, bundle.length * (IS_LONG ? BITS.length : 1));
  });
});
