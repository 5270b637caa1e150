// How whatever goes wrong while a journal is verified becomes a fault with a reason of the closed list. Only what is no
// verdict on the data – no memory, a disk that cannot be read – is thrown on.

import { EvidenceError } from '@tallystick/evidence';
import { fault } from '../../fsck/store-fault.ts';

/** SQLITE_CORRUPT and SQLITE_NOTADB: the pages of the file are not those of a database. */
const DAMAGED = [11, 26];

/** The fault that an error stands for; throws the error itself if it is none of the data. */
export function faultOf(error: unknown): EvidenceError {
  if (error instanceof EvidenceError) return error;
  if (isDamage(error)) return fault('MALFORMED', `the database is damaged: ${error.message}`);
  const isTooLarge = error instanceof RangeError && 'code' in error && error.code === 'ERR_OUT_OF_RANGE';
  if (isTooLarge) return fault('MALFORMED', 'a column holds an integer that is none of ours');
  throw error;
}

export function isDamage(error: unknown): error is Error {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  return DAMAGED.includes(error.errcode & 0xff);
}
