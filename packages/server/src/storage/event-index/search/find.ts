// Answers a question from all pieces of a tenant's log: how many match, one page of them in an order, and their counts.

import { eventIdText } from '@tallystick/evidence';
import type { OrderStep, Question, SortKey } from '../../../events/event-index.ts';
import type { Stopping } from './answer.ts';
import { textOfTerm } from '../segments/bytes.ts';
import { DocSet } from '../segments/doc-set.ts';
import { evaluate } from './evaluate.ts';
import type { Looker } from './look.ts';
import { mergedRows } from './merged-rows.ts';
import type { Plan } from './plan.ts';
import { indexOf, readRows, type Row, RowOrder } from './rows.ts';
import type { Searched } from '../segments/searched.ts';

/** What a plan finds in one piece. What lies between the two sets is looked at when it matters. */
export interface PieceFound {
  readonly of: Searched;
  readonly sure: DocSet;
  readonly possible: DocSet;
}

export async function findIn(
  pieces: readonly Searched[],
  plan: Plan,
  stopping: Stopping,
): Promise<PieceFound[]> {
  const check = () => stopping.throwIfPassed();
  return Promise.all(pieces.map(async (of) => ({ of, ...(await evaluate(plan, of, check)) })));
}

/** Of all pieces together: exact up to the limit, one more past it. */
export async function totalOf(found: readonly PieceFound[], looker: Looker, limit: number): Promise<number> {
  let total = found.reduce((sum, { sure }) => sum + sure.count, 0);
  for (const { of, sure, possible } of newestFirst(found)) {
    if (total > limit) break;
    if (sure === possible) continue;
    for await (const docs of looker.passing(of, possible.minus(sure).list().toReversed())) {
      total += docs.length;
      if (total > limit) break;
    }
  }
  return Math.min(total, limit + 1);
}

function newestFirst<P extends { readonly of: Searched }>(pieces: readonly P[]): P[] {
  return pieces.toSorted((a, b) => b.of.firstIndex - a.of.firstIndex);
}

/** The rows of a page. */
export async function pageOf(
  found: readonly PieceFound[],
  { direction, beyond, rowsMax }: Question,
  steps: readonly OrderStep[],
  looker: Looker,
  deadline: Stopping,
  gatheredMax?: number,
): Promise<PlacedRow[]> {
  const order = new RowOrder(steps, direction, gatheredMax);
  const sureOf = new Map(found.map(({ of, sure }) => [of, sure]));
  const pieces = found.map(({ of, possible }) => ({ of, docs: possible }));
  const page: Row[] = [];
  let waiting: Row[] = [];
  const lookAtWaiting = async () => {
    const isUnsure = (row: Row) => !sureOf.get(row.of)!.has(row.doc);
    const passed = await looker.rowsPassing(waiting.filter(isUnsure));
    page.push(...waiting.filter((row) => !isUnsure(row) || passed.has(row)));
    waiting = [];
  };
  for await (const row of mergedRows(pieces, order, beyond)) {
    deadline.throwIfPassed();
    waiting.push(row);
    if (page.length + waiting.length < rowsMax) continue;
    await lookAtWaiting();
    if (page.length >= rowsMax) break;
  }
  await lookAtWaiting();
  return placesOf(page.slice(0, rowsMax));
}

/** A row of a page, with all that decides its place. */
export interface PlacedRow {
  readonly of: Searched;
  readonly doc: number;
  readonly place: SortKey;
}

export async function placesOf(rows: readonly Pick<Row, 'of' | 'doc'>[]): Promise<PlacedRow[]> {
  const read = new Map<Searched, Map<number, Row>>();
  for (const [of, own] of Map.groupBy(rows, (row) => row.of)) {
    const docs = own.map(({ doc }) => doc);
    const complete = await readRows(of, docs, { needsAction: true, needsEventId: true });
    read.set(of, new Map(complete.map((row) => [row.doc, row])));
  }
  return rows.map(({ of, doc }) => {
    const row = read.get(of)!.get(doc)!;
    const { atMs, atNs } = row;
    return {
      of,
      doc,
      place: { atMs, atNs, action: textOfTerm(row.action), eventId: eventIdIn(row), index: indexOf(row) },
    };
  });
}

function eventIdIn({ eventId }: Row): string {
  return eventIdText(Buffer.from(eventId, 'latin1'));
}

/** The newest that match, newest first. */
export async function newestOf(
  found: readonly PieceFound[],
  looker: Looker,
  limit: number,
): Promise<Pick<Row, 'of' | 'doc'>[]> {
  const newest: Pick<Row, 'of' | 'doc'>[] = [];
  for (const { of, sure, possible } of newestFirst(found)) {
    const docs = possible.list().toReversed();
    for await (const passing of looker.passing(of, docs, sure)) {
      newest.push(...passing.map((doc) => ({ of, doc })));
      if (newest.length >= limit) return newest.slice(0, limit);
    }
  }
  return newest;
}
