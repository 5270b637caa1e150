// How whatever goes wrong while a database is verified becomes a fault with a reason of the closed list. Only what is no
// verdict on the data – a connection that broke, a server that stops – is thrown on.

import { EvidenceError } from '@tallystick/evidence';
import { fault } from '../../fsck/store-fault.ts';

/**
 * data_corrupted and index_corrupted: the pages of a table are not those of one. undefined_file: one of its files is gone;
 * elsewhere that counts as a database that cannot be asked. undefined_table and undefined_column: it is not there any more. After any of them the transaction answers nothing else: in_failed_sql_transaction.
 */
const DAMAGED: readonly unknown[] = ['XX001', 'XX002', '58P01', '42P01', '42703', '25P02'];

/** The fault that an error stands for; throws the error itself if it is none of the data. */
export function faultOf(error: unknown): EvidenceError {
  if (error instanceof EvidenceError) return error;
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && DAMAGED.includes(cause.code))
      return fault('MALFORMED', `the database is damaged: ${cause.message}`);
  throw error;
}
