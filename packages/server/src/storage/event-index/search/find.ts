// Answers a question from all pieces of a tenant's log: how many match, one page of them in an order, and their counts.

import { eventIdText } from '@tallystick/evidence';
import type { OrderStep, Question, SortKey } from '../../../events/event-index.ts';
import type { Stopping } from './answer.ts';
import { textOfTerm } from '../segments/bytes.ts';
import type { DocSet } from '../segments/doc-set.ts';
import { evaluate, type Finding } from './evaluate.ts';
import type { Looker } from './look.ts';
import { mergedRows } from './merged-rows.ts';
import type { Plan } from './plan.ts';
import { indexOf, readRows, type Row, RowOrder } from './rows.ts';
import type { Searched } from '../segments/searched.ts';

/** So many times as many docs are searched as would do if those that match were spread evenly. */
const SPARE = 1.2;

/** What a plan finds in one piece, when that is needed: often the newest ones are enough. */
export class PieceFound {
  readonly piece: Searched;
  readonly #find: () => Promise<Finding>;
  #finding: Promise<Finding> | undefined;

  constructor(piece: Searched, find: () => Promise<Finding>) {
    this.piece = piece;
    this.#find = find;
  }

  /** What lies between the two sets is looked at when it matters. */
  finding(): Promise<Finding> {
    return (this.#finding ??= this.#find());
  }
}

export function findIn(pieces: readonly Searched[], plan: Plan, stopping: Stopping): PieceFound[] {
  const check = () => stopping.throwIfPassed();
  return pieces.map((piece) => new PieceFound(piece, () => evaluate(plan, piece, check)));
}

/** What is found in a piece. */
export interface FoundThere extends Finding {
  readonly piece: Searched;
}

/** At once, so that all blocks that this needs are read together. */
export function allFound(pieces: readonly PieceFound[]): Promise<FoundThere[]> {
  return Promise.all(pieces.map(async (found) => ({ piece: found.piece, ...(await found.finding()) })));
}

/** Of all pieces together: exact up to the limit, one more past it. */
export async function totalOf(pieces: readonly PieceFound[], looker: Looker, limit: number): Promise<number> {
  let total = 0;
  const found: FoundThere[] = [];
  const left = newestFirst(pieces);
  for (let docs = limit + 1; left.length > 0; ) {
    found.push(...(await allFound(taken(left, docs))));
    total = found.reduce((sum, { sure }) => sum + sure.count, 0);
    if (total > limit) return limit + 1;
    // As many as are likely to be enough.
    const seen = found.reduce((sum, { piece }) => sum + piece.docs, 0);
    docs = ((SPARE * seen) / total) * (limit + 1 - total);
  }
  for (const { piece, sure, possible } of found) {
    if (sure === possible) continue;
    for await (const docs of looker.passing(piece, possible.minus(sure).list().toReversed())) {
      total += docs.length;
      if (total > limit) return limit + 1;
    }
  }
  return total;
}

/** Takes the first pieces, until they have so many docs together. */
function taken(left: PieceFound[], docs: number): PieceFound[] {
  let count = 0;
  for (let sum = 0; count < left.length && sum < docs; count++) sum += left[count]!.piece.docs;
  return left.splice(0, Math.max(1, count));
}

function newestFirst<P extends { readonly piece: Searched }>(pieces: readonly P[]): P[] {
  return pieces.toSorted((a, b) => b.piece.firstIndex - a.piece.firstIndex);
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
  const sureOf = new Map<Searched, DocSet>();
  const pieces = found.map((there) => ({
    piece: there.piece,
    async docs() {
      const { sure, possible } = await there.finding();
      sureOf.set(there.piece, sure);
      return possible;
    },
  }));
  const page: Row[] = [];
  let waiting: Row[] = [];
  const lookAtWaiting = async () => {
    const isUnsure = (row: Row) => !sureOf.get(row.piece)!.has(row.doc);
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
  readonly piece: Searched;
  readonly doc: number;
  readonly place: SortKey;
}

export async function placesOf(rows: readonly Pick<Row, 'piece' | 'doc'>[]): Promise<PlacedRow[]> {
  const read = new Map<Searched, Map<number, Row>>();
  for (const [piece, own] of Map.groupBy(rows, (row) => row.piece)) {
    const docs = own.map(({ doc }) => doc);
    const complete = await readRows(piece, docs, { needsAction: true, needsEventId: true });
    read.set(piece, new Map(complete.map((row) => [row.doc, row])));
  }
  return rows.map(({ piece, doc }) => {
    const row = read.get(piece)!.get(doc)!;
    const { atMs, atNs } = row;
    return {
      piece,
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
): Promise<Pick<Row, 'piece' | 'doc'>[]> {
  const newest: Pick<Row, 'piece' | 'doc'>[] = [];
  const left = newestFirst(found);
  for (let docs = limit; left.length > 0; docs = Infinity)
    for (const { piece, sure, possible } of await allFound(taken(left, docs))) {
      const docs = possible.list().toReversed();
      for await (const passing of looker.passing(piece, docs, sure)) {
        newest.push(...passing.map((doc) => ({ piece, doc })));
        if (newest.length >= limit) return newest.slice(0, limit);
      }
    }
  return newest;
}
