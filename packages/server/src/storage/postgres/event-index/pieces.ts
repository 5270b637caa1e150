// A portion of a log piece by piece, as the follower takes it into a view: read, made into documents, or refused.

import { pauseForOthers } from '../../../runtime/pause.ts';
import { eventIn } from '../../event-index/logged-event.ts';
import { statement, type Transaction } from '../connection/database.ts';
import type { WrittenPortion } from './index-writer.ts';
import { type LoggedPortion, type LoggedRow, rowsBetween } from './logged-events.ts';
import type { View } from './views.ts';

/** By index, why it cannot be indexed. */
export type Reasons = ReadonlyMap<number, string>;

/** The next rows of a log, and where those behind them begin; fewer than were wanted if they are so large. */
export interface Piece extends LoggedPortion {
  readonly nextIndex: number;
}

/** Of a portion, so many are read and written at once: while the database writes some, documents are made of the next. */
export const PIECE = 500;
export const PIECE_BYTES = 8 * 1024 * 1024;
/** Between these, what is on its way to the database and from there has a turn, and so have requests. */
const DOCUMENTS_AT_ONCE = 20;
/** A failure that comes back so often is one of the event itself. */
export const ATTEMPTS_MAX = 3;

const SAVE = statement('SAVEPOINT before_one');
const BACK = statement('ROLLBACK TO SAVEPOINT before_one');

export async function readPiece(
  transaction: Transaction,
  { tenant }: View,
  fromIndex: number,
  end: number,
): Promise<Piece> {
  const endIndex = Math.min(end, fromIndex + PIECE);
  const range = { fromIndex, endIndex, bytesMax: PIECE_BYTES };
  const { rows, isCut } = await rowsBetween(transaction, tenant, range);
  return { rows, isCut, nextIndex: isCut ? rows.at(-1)!.index + 1 : endIndex };
}

/** Why some could not be indexed. They are of the view at `place`, and so many were `done` before. */
export async function addAll(
  written: WrittenPortion,
  rows: readonly LoggedRow[],
  { place = 0, done = 0 }: { readonly place?: number; readonly done?: number } = {},
): Promise<Reasons> {
  const failed = new Map<number, string>();
  for (const [i, row] of rows.entries()) {
    if ((done + i) % DOCUMENTS_AT_ONCE === DOCUMENTS_AT_ONCE - 1) await pauseForOthers();
    const reason = reasonAgainst(() => {
      const event = eventIn(row);
      if (event !== undefined) written.add(row.index, event, place);
    });
    if (reason !== undefined) failed.set(row.index, reason);
  }
  return failed;
}

function reasonAgainst(work: () => void): string | undefined {
  for (let attempt = 1; ; attempt++) {
    try {
      work();
      return undefined;
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) return error instanceof Error ? error.message : String(error);
    }
  }
}

/** Why the database refuses what an event says; undefined if it does not. */
export async function refusalOf(
  transaction: Transaction,
  write: () => Promise<void>,
): Promise<string | undefined> {
  await transaction.query(SAVE);
  try {
    await write();
    return undefined;
  } catch (error) {
    if (!isOfEvent(error)) throw error;
    await transaction.query(BACK);
    return error.message;
  }
}

/** Data that it does not take (22), rows that stand in the way (23), and what is too large (54). Else it is at fault itself. */
export function isOfEvent(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return typeof error.code === 'string' && /^(22|23|54)/.test(error.code);
}
