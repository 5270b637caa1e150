// Where docs stand in an order, by halving it: each step reads a doc of the order, and its value.

import { EVENT_ID_BYTES } from '../segments/column-writer.ts';
import { COLUMN_DOCS, type OrderName } from '../segments/segment-format.ts';
import type { Awaitable, Searched } from '../segments/searched.ts';

/** An order of a piece. Each block is asked for once: a tail sorts its events whenever it is. */
export class PieceOrder {
  readonly piece: Searched;
  readonly #name: OrderName;
  readonly #blocks = new Map<number, Awaitable<Uint32Array>>();

  constructor(piece: Searched, name: OrderName) {
    this.piece = piece;
    this.#name = name;
  }

  block(block: number): Awaitable<Uint32Array> {
    const known = this.#blocks.get(block);
    if (known !== undefined) return known;
    const docs = this.piece.order(this.#name, block);
    this.#blocks.set(block, docs);
    return docs;
  }

  /** The position of the first doc that is not below. */
  async positionOf(isBelow: (doc: number) => Promise<boolean>): Promise<number> {
    let low = 0;
    let high = this.piece.docs;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const doc = (await this.block(Math.floor(middle / COLUMN_DOCS)))[middle % COLUMN_DOCS]!;
      if (await isBelow(doc)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** As a byte string. */
export async function eventIdAt(piece: Searched, doc: number): Promise<string> {
  return eventIdIn(await piece.eventIds(Math.floor(doc / COLUMN_DOCS)), doc);
}

/** `ids` is the block that the doc is in. */
export function eventIdIn(ids: Buffer, doc: number): string {
  const at = (doc % COLUMN_DOCS) * EVENT_ID_BYTES;
  return ids.toString('latin1', at, at + EVENT_ID_BYTES);
}
