// Events that could not be indexed: kept beside the views with the reason, so that they can be looked at and tried again,
// and so that one of them does not hold up all others.

import { LIMITS, type TenantId } from '@tallystick/contract';
import type { HeldLetter } from '../../../admin/dead-letters.ts';
import type { RowsWish } from '../../../paging.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { LAST_ID } from '../../rows/last-id.ts';
import { type Row, statement, type Transaction } from '../database.ts';
import { ATTEMPTS_MAX, type Reasons } from './pieces.ts';

/** An event that was passed over. */
export interface IndexLetter extends HeldLetter {
  /** In the tenant's sequence. */
  readonly index: number;
}

const ADD = statement(
  `INSERT INTO dead_letters (tenant_id, message_id, leaf_index, reason, attempts, first_failed_ms, last_failed_ms)
   VALUES ($1, $2, $3, $4, $5, $6, $6)
   ON CONFLICT (tenant_id, leaf_index) DO UPDATE SET reason = excluded.reason,
     attempts = dead_letters.attempts + excluded.attempts, last_failed_ms = excluded.last_failed_ms`,
);
const SELECT = 'SELECT * FROM dead_letters WHERE tenant_id = $1';
const BEFORE = statement(`${SELECT} AND message_id < $2 ORDER BY message_id DESC LIMIT $3`);
const AFTER = statement(`${SELECT} AND message_id > $2 ORDER BY message_id LIMIT $3`);
const FIND = statement(`${SELECT} AND message_id = $2`);
const REMOVE = statement('DELETE FROM dead_letters WHERE tenant_id = $1 AND leaf_index = ANY($2::bigint[])');
const REMOVE_EXPIRED = statement('DELETE FROM dead_letters WHERE last_failed_ms <= $1');

/** For whoever reads. */
export const LETTER_COUNT = statement('SELECT count(*) AS count FROM dead_letters WHERE tenant_id = $1');
export const LETTER_COUNT_OF_ALL = statement('SELECT count(*) AS count FROM dead_letters');

/** No reason is longer: it may hold text of the event. */
const REASON_LENGTH_MAX = 1000;
const NUL = '\u0000';

/** Events that are passed over. One that is there already has failed again. */
export async function addLetters(
  transaction: Transaction,
  tenant: TenantId,
  failed: Reasons,
  { nextId, nowMs }: { readonly nextId: () => string; readonly nowMs: number },
): Promise<void> {
  for (const [index, why] of failed) {
    const reason = why.replaceAll(NUL, ' ').slice(0, REASON_LENGTH_MAX);
    await transaction.change(ADD, [tenant, nextId(), index, reason, ATTEMPTS_MAX, nowMs]);
  }
}

export async function lettersOf(
  transaction: Transaction,
  tenant: TenantId,
  { way, beyond, limit }: RowsWish,
): Promise<IndexLetter[]> {
  const rows =
    way === 'Falling'
      ? await transaction.query(BEFORE, [tenant, beyond ?? LAST_ID, limit])
      : await transaction.query(AFTER, [tenant, beyond ?? '', limit]);
  return rows.map(letterIn);
}

export async function findLetter(
  transaction: Transaction,
  tenant: TenantId,
  messageId: string,
): Promise<IndexLetter | undefined> {
  const [row] = await transaction.query(FIND, [tenant, messageId]);
  return row === undefined ? undefined : letterIn(row);
}

/** They are in the index now. */
export async function removeLetters(
  transaction: Transaction,
  tenant: TenantId,
  indexes: readonly number[],
): Promise<void> {
  if (indexes.length > 0) await transaction.change(REMOVE, [tenant, indexes]);
}

/** Those whose time is over, as `expiresAt` has promised. */
export async function removeExpiredLetters(transaction: Transaction, nowMs: number): Promise<void> {
  await transaction.change(REMOVE_EXPIRED, [nowMs - LIMITS.deadLetterLifetimeMs]);
}

function letterIn(row: Row): IndexLetter {
  return {
    messageId: textIn(row, 'message_id'),
    index: numberOf(row, 'leaf_index'),
    reason: textIn(row, 'reason'),
    attempts: numberOf(row, 'attempts'),
    firstFailedAtMs: numberOf(row, 'first_failed_ms'),
    lastFailedAtMs: numberOf(row, 'last_failed_ms'),
  };
}
