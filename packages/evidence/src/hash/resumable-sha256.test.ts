import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { toHex } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { ResumableSha256, type Sha256State } from './resumable-sha256.ts';

describe('a SHA-256 that goes on', () => {
  it('gives the hash of the whole, wherever it was cut', () => {
    const whole = Uint8Array.from({ length: 200_000 }, (_, i) => (i * 31) % 251);
    for (const cuts of [[], [1], [63], [64], [65, 66, 127], [55, 56, 119, 120], [130_000, 199_999]]) {
      let state: Sha256State | undefined;
      for (const [i, end] of [...cuts, whole.length].entries()) {
        const hash = new ResumableSha256(state).update(whole.subarray(cuts[i - 1] ?? 0, end));
        const upToHere = createHash('sha256').update(whole.subarray(0, end)).digest('hex');
        assert.equal(toHex(hash.digest()), upToHere, `cut at ${cuts.join()}`);
        // As it comes back from a file.
        state = JSON.parse(JSON.stringify(hash.state)) as Sha256State;
      }
    }
  });

  it('gives the hash of nothing, and of every short message', () => {
    for (let length = 0; length < 200; length++) {
      const message = new Uint8Array(length).fill(length);
      const expected = createHash('sha256').update(message).digest('hex');
      assert.equal(toHex(new ResumableSha256().update(message).digest()), expected);
    }
  });

  it('refuses what is no state', () => {
    const { state } = new ResumableSha256().update(Uint8Array.of(1, 2, 3));
    for (const wrong of [
      { ...state, rest: '01' },
      { ...state, state: '00' },
      { ...state, length: 4 },
    ])
      assert.throws(() => new ResumableSha256(wrong), EvidenceError);
  });
});
