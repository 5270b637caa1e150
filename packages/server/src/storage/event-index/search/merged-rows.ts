// The rows of all pieces of the log as one, in the order that is asked for. Of an order by time, and of that of the
// log, a piece is opened only when no row that is open comes before all of its own.

import type { SortKey } from '../../../events/event-index.ts';
import type { DocSet } from '../segments/doc-set.ts';
import { indexOf, type Row, type RowOrder, rowsIn } from './rows.ts';
import type { Searched } from '../segments/searched.ts';

/** The docs of a piece that may be shown, found when it is opened. */
export interface FoundIn {
  readonly piece: Searched;
  docs(): Promise<DocSet>;
}

interface Open {
  readonly rest: AsyncGenerator<readonly Row[]>;
  rows: readonly Row[];
  at: number;
}

export async function* mergedRows(
  pieces: readonly FoundIn[],
  order: RowOrder,
  beyond: SortKey | undefined,
): AsyncGenerator<Row> {
  const [step] = order.steps;
  const isOfLog = step === undefined;
  const isSpread = isOfLog || step.field === 'timestamp';
  const isDescending = step?.isDescending ?? order.isIndexDescending;
  const endsOf = ({ firstIndex, docs, minMs, maxMs }: Searched) =>
    isOfLog ? [firstIndex, firstIndex + docs - 1] : [minMs, maxMs];
  const boundOf = ({ piece }: FoundIn) => {
    const [least, greatest] = endsOf(piece) as [number, number];
    if (!isSpread) return -Infinity;
    return isDescending ? -greatest : least;
  };
  // The last of them is opened first.
  const closed = pieces.toSorted((a, b) => boundOf(b) - boundOf(a));
  // All are opened then, and together they read their blocks at once.
  if (!isSpread) await Promise.all(pieces.map((found) => found.docs()));
  const open: Open[] = [];
  const placeOf = ({ rows, at }: Open) => {
    const place = isOfLog ? indexOf(rows[at]!) : rows[at]!.atMs;
    return isDescending ? -place : place;
  };
  const mayBeNext = (found: FoundIn | undefined, best: Open | undefined) =>
    found !== undefined && (best === undefined || !isSpread || boundOf(found) <= placeOf(best));
  for (;;) {
    let best = bestOf(open, order);
    while (mayBeNext(closed.at(-1), best)) {
      const found = closed.pop()!;
      const docs = await found.docs();
      if (docs.count === 0) continue;
      const opened = { rest: rowsIn(found.piece, docs, order, beyond), rows: [], at: 0 };
      if (!(await advance(opened))) continue;
      open.push(opened);
      best = betterOf(best, opened, order);
    }
    if (best === undefined) return;
    yield best.rows[best.at]!;
    best.at++;
    if (!(await advance(best))) open.splice(open.indexOf(best), 1);
  }
}

function bestOf(open: readonly Open[], order: RowOrder): Open | undefined {
  let best: Open | undefined;
  for (const each of open) best = betterOf(best, each, order);
  return best;
}

function betterOf(best: Open | undefined, other: Open, order: RowOrder): Open {
  if (best === undefined) return other;
  return order.compare(other.rows[other.at]!, best.rows[best.at]!) < 0 ? other : best;
}

/** False where there is no other row. */
async function advance(open: Open): Promise<boolean> {
  while (open.at >= open.rows.length) {
    const next = await open.rest.next();
    if (next.done === true) return false;
    open.rows = next.value;
    open.at = 0;
  }
  return true;
}
