// Takes the next events of many logs into their views, in one transaction: of ten thousand logs with an event each, almost
// all time would be spent on transactions. What the database refuses is refused of all of them; then they are to be taken
// one by one. Not for tables that are distributed: what is asked here is asked of many tenants.

import { numberOf, textIn } from '../../rows/columns.ts';
import { statement, type Transaction } from '../connection/database.ts';
import { type Leases, stillHeld } from '../nodes/held-shares.ts';
import { addLetters, type Letters } from './dead-letters.ts';
import { WrittenPortion } from './index-writer.ts';
import { BY_INDEX, type LoggedOfMany, type LogRange, rowsOfMany } from './logged-events.ts';
import { type LogBehind, SMALL_COUNT_MAX } from './logs-behind.ts';
import { NOT_DURABLY } from './old-views.ts';
import { addAll, PIECE, type Reasons } from './pieces.ts';
import { NOTHING, setAsideOf, type Taken } from './taken.ts';
import { type TermsOfViews, type View, VIEW_COLUMNS, viewIn } from './views.ts';

/** Of all events that are read together; the rest is left for the next turn. */
const BYTES_MAX = 4 * 1024 * 1024;

const LOCK_CURRENT = statement(
  `SELECT tenant_id, ${VIEW_COLUMNS} FROM views WHERE tenant_id = ANY($1::text[]) AND state = 'Current'
   ORDER BY tenant_id FOR UPDATE SKIP LOCKED`,
);
const HEADS = statement('SELECT tenant_id, next_index FROM heads WHERE tenant_id = ANY($1::text[])');
// The tenants are said twice, so that they are looked up: joined alone, all views might be gone through.
const ADVANCE = statement(
  `UPDATE views SET next_index = moved.next_index
   FROM unnest($1::text[], $2::integer[], $3::bigint[]) AS moved (tenant_id, generation, next_index)
   WHERE views.tenant_id = ANY($1::text[]) AND views.tenant_id = moved.tenant_id
     AND views.generation = moved.generation`,
);

export interface Taking {
  readonly terms: TermsOfViews;
  /** How many events at most. */
  readonly portion: number;
  readonly letters: Letters;
}

/** What is taken of one log. */
interface Range extends LogRange {
  readonly view: View;
  /** Where its log ends. */
  readonly logEnd: number;
}

/** Logs whose share has been lost, or whose view somebody else has locked, are left out. */
export async function takeTogether(
  transaction: Transaction,
  logs: readonly LogBehind[],
  taking: Taking,
): Promise<Taken> {
  const ranges = await lockedRanges(transaction, logs, taking.portion);
  if (ranges.length === 0) return NOTHING;
  const [views, { rows, isCut }] = await Promise.all([
    taking.terms.openAll(
      transaction,
      ranges.map(({ view }) => view),
    ),
    rowsOfMany(transaction, ranges, BYTES_MAX),
  ]);
  const written = new WrittenPortion(views);
  const failed = await addToViews(transaction, written, rows);
  await written.write(transaction);
  for (const [place, reasons] of failed)
    await addLetters(transaction, ranges[place]!.tenant, reasons, taking.letters);
  const ends = endsOf(ranges, isCut ? rows.at(-1) : undefined);
  await transaction.change(ADVANCE, [
    ranges.map(({ tenant }) => tenant),
    ranges.map(({ view }) => view.generation),
    ends,
  ]);
  return {
    count: ends.reduce((sum, end, i) => sum + end - ranges[i]!.fromIndex, 0),
    isMore: ends.some((end, i) => end < ranges[i]!.logEnd),
    setAside: [...failed].flatMap(([place, reasons]) => setAsideOf(ranges[place]!.tenant, reasons)),
  };
}

async function lockedRanges(
  transaction: Transaction,
  logs: readonly LogBehind[],
  portion: number,
): Promise<Range[]> {
  const [held] = await Promise.all([
    stillHeld(transaction, leasesOf(logs)),
    transaction.query(NOT_DURABLY),
    transaction.query(BY_INDEX),
  ]);
  // Logs of other shares are not locked, so that their nodes find them free.
  const own = logs.filter(({ share }) => held === undefined || held.has(share));
  const tenants = own.map(({ tenant }) => tenant);
  const [locked, heads] = await Promise.all([
    transaction.query(LOCK_CURRENT, [tenants]),
    transaction.query(HEADS, [tenants]),
  ]);
  const endOf = new Map(heads.map((row) => [textIn(row, 'tenant_id'), numberOf(row, 'next_index')]));
  const ranges: Range[] = [];
  let room = portion;
  for (const row of locked) {
    const view = viewIn(textIn(row, 'tenant_id'), row);
    const fromIndex = view.nextIndex;
    const logEnd = endOf.get(view.tenant) ?? 0;
    if (fromIndex >= logEnd) continue;
    // It may have gone on since it was found to be small.
    const count = Math.min(logEnd - fromIndex, SMALL_COUNT_MAX, room);
    room -= count;
    ranges.push({ tenant: view.tenant, view, fromIndex, endIndex: fromIndex + count, logEnd });
  }
  return ranges;
}

function leasesOf(logs: readonly LogBehind[]): Leases | undefined {
  if (logs.some(({ lease }) => lease === undefined)) return undefined;
  return new Map(logs.flatMap(({ lease }) => [...lease!]));
}

/** By the place of the log, why some could not be indexed. While the database writes some, documents are made of the next. */
async function addToViews(
  transaction: Transaction,
  written: WrittenPortion,
  rows: readonly LoggedOfMany[],
): Promise<ReadonlyMap<number, Reasons>> {
  const failed = new Map<number, Reasons>();
  let writing: Promise<unknown> | undefined;
  let done = 0;
  let doneBefore = 0;
  for (const [place, own] of Map.groupBy(rows, (row) => row.place)) {
    const reasons = await addAll(written, own, { place, done });
    if (reasons.size > 0) failed.set(place, reasons);
    done += own.length;
    if (done - doneBefore < PIECE) continue;
    doneBefore = done;
    await writing;
    writing = written.writeDocs(transaction);
    writing.catch(() => {});
  }
  await writing;
  return failed;
}

/** Where each is now. `last` is the last row that was read, if those behind it were left. */
function endsOf(ranges: readonly Range[], last: LoggedOfMany | undefined): number[] {
  return ranges.map(({ fromIndex, endIndex }, place) => {
    if (last === undefined || place < last.place) return endIndex;
    return place === last.place ? last.index + 1 : fromIndex;
  });
}
