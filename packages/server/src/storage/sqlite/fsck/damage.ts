// Converts errors during a journal verification to faults with a reason of the closed list. Errors that are not about
// the data (no memory, an unreadable disk) are rethrown.

import { EvidenceError } from '@tallystick/evidence';
import { fault } from '../../fsck/store-fault.ts';

/** SQLITE_CORRUPT and SQLITE_NOTADB: the pages of the file are not those of a database. */
const DAMAGED = [11, 26];

/** Converts an error to its fault; rethrows errors that are not about the data. */
export function faultOf(error: unknown): EvidenceError {
  if (error instanceof EvidenceError) return error;
  if (isDamage(error)) return fault('MALFORMED', `the database is damaged: ${error.message}`);
  const isTooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE';
  if (isTooLarge) return fault('MALFORMED', 'a column holds an integer that is out of range');
  throw error;
}

export function isDamage(error: unknown): error is Error {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  return DAMAGED.includes(error.errcode & 0xff);
}
