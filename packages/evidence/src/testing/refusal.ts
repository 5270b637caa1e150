// For tests: what a maker or checker refuses with.

import assert from 'node:assert/strict';
import { EvidenceError, type Reason } from '../errors.ts';

/** For assert.throws and assert.rejects. */
export function refusal(...reasons: Reason[]) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof EvidenceError, `not an EvidenceError: ${String(error)}`);
    assert.ok(
      reasons.includes(error.reason),
      `${error.reason} (${error.message}), not ${reasons.join(' or ')}`,
    );
    return true;
  };
}

/** What `run` gives, or the EvidenceError that it throws. Any other error fails the test. */
export function resultOrRefusal<Result>(run: () => Result): Result | EvidenceError {
  try {
    return run();
  } catch (error) {
    assert.ok(error instanceof EvidenceError, `not an EvidenceError: ${String(error)}`);
    return error;
  }
}
