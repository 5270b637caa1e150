// Converts errors during a database verification to faults with a reason of the closed list. Errors that are not about
// the data (a broken connection, a server that stops) are rethrown.

import { EvidenceError } from '@tallystick/evidence';
import { fault } from '../../fsck/store-fault.ts';

/**
 * data_corrupted and index_corrupted: the pages of a table are damaged. undefined_file: one of its files is gone;
 * elsewhere that counts as an unavailable database. undefined_table and undefined_column: it no longer exists. After
 * any of them the transaction answers nothing else: in_failed_sql_transaction.
 */
const DAMAGED: readonly unknown[] = ['XX001', 'XX002', '58P01', '42P01', '42703', '25P02'];

/** Converts an error to its fault; rethrows errors that are not about the data. */
export function faultOf(error: unknown): EvidenceError {
  if (error instanceof EvidenceError) return error;
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && DAMAGED.includes(cause.code))
      return fault('MALFORMED', `the database is damaged: ${cause.message}`);
  throw error;
}
