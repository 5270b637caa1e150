// Every bit of a bundle counts. By itself, because it takes longer than all other tests of bundles together.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EvidenceError } from '../errors.ts';
import { sampleEvent, SampleLog } from '../testing/sample-log.ts';
import type { Trust } from './trust.ts';
import { verifyBundle } from './verify-bundle.ts';

describe('any single bit', () => {
  it('of a bundle, turned, is noticed', async () => {
    const log = await SampleLog.create();
    for (let n = 0; n < 20; n++) log.append(sampleEvent(n));
    const trust: Trust = { verifiers: [log.verifier] };
    const bundle = await log.bundle({ from: 6, to: 7 });
    let refusals = 0;
    for (let at = 0; at < bundle.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const turned = bundle.slice();
        turned[at]! ^= 1 << bit;
        await assert.rejects(verifyBundle([turned], trust), EvidenceError, `byte ${at}, bit ${bit}`);
        refusals++;
      }
    }
    assert.equal(refusals, bundle.length * 8);
  });
});
