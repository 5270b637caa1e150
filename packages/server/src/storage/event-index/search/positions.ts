// Where docs stand in an order, by halving it: each step reads a block of the order, and one of the column.

import { EVENT_ID_BYTES } from '../segments/column-writer.ts';
import { COLUMN_DOCS, type OrderName } from '../segments/segment-format.ts';
import type { Searched } from '../segments/searched.ts';

/** The position of the first doc that is not below. */
export async function positionOf(
  of: Searched,
  name: OrderName,
  isBelow: (doc: number) => Promise<boolean>,
): Promise<number> {
  let low = 0;
  let high = of.docs;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const doc = (await of.order(name, Math.floor(middle / COLUMN_DOCS)))[middle % COLUMN_DOCS]!;
    if (await isBelow(doc)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** As a byte string. */
export async function eventIdAt(of: Searched, doc: number): Promise<string> {
  return eventIdIn(await of.eventIds(Math.floor(doc / COLUMN_DOCS)), doc);
}

/** `ids` is the block that the doc is in. */
export function eventIdIn(ids: Buffer, doc: number): string {
  const at = (doc % COLUMN_DOCS) * EVENT_ID_BYTES;
  return ids.toString('latin1', at, at + EVENT_ID_BYTES);
}
