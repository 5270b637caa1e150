// How a command that asks a service ends if it fails: one line on standard error, and the exit code.

import { EvidenceError } from '@tallystick/evidence';
import { CannotRun, EXIT } from './cannot-run.ts';
import { NoAnswer } from './fetch-bytes.ts';
import { complain } from './output/complain.ts';
import { printable } from './output/printable.ts';

/** Throws any other error. */
export function failedAsking(error: unknown): number {
  if (!(error instanceof CannotRun || error instanceof EvidenceError)) throw error;
  complain(printable(error.message));
  return error instanceof NoAnswer || error instanceof EvidenceError ? EXIT.failed : EXIT.wrongUsage;
}
