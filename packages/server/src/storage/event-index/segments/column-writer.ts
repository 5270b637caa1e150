// Writes the columns of a segment, the order of its docs by time and by eventId, and the texts that numbers stand for. It
// holds one row of all columns for each doc: some fifty bytes, so that half a million docs fit well.

import { ByteWriter } from './bytes.ts';
import {
  BLOCK_BYTES,
  COLUMN_DOCS,
  type ColumnBlock,
  type Footer,
  NUMBER_COLUMNS,
  ORDERS,
  type OrderName,
  type TakeBlock,
  VALUE_COLUMNS,
  type ValueBlock,
  type ValueColumn,
} from './segment-format.ts';

/** Of a doc without content. */
export const NO_TRAITS = 255;
export const EVENT_ID_BYTES = 16;

/** All columns of a segment, by doc. */
export interface Columns {
  readonly atMs: Float64Array;
  readonly atNs: Float64Array;
  readonly receivedMs: Float64Array;
  readonly traits: Uint8Array;
  readonly eventId: Uint8Array;
  readonly action: Uint32Array;
  readonly actor: Uint32Array;
  readonly resourceType: Uint32Array;
}

export function columnsFor(docs: number): Columns {
  return {
    atMs: new Float64Array(docs),
    atNs: new Float64Array(docs),
    receivedMs: new Float64Array(docs),
    traits: new Uint8Array(docs).fill(NO_TRAITS),
    eventId: new Uint8Array(docs * EVENT_ID_BYTES),
    action: new Uint32Array(docs),
    actor: new Uint32Array(docs),
    resourceType: new Uint32Array(docs),
  };
}

/** Of the first docs alone. */
export function firstDocs(columns: Columns, docs: number): Columns {
  const { eventId, ...others } = columns;
  const first = Object.entries(others).map(([name, values]) => [name, values.subarray(0, docs)]);
  // Every column is still there.
  return { ...Object.fromEntries(first), eventId: eventId.subarray(0, docs * EVENT_ID_BYTES) } as Columns;
}

/** A text that a number of a column stands for. */
export interface ValueText {
  readonly text: string;
  /** The newest name of an actor, and the newest outside of secret events. */
  readonly label?: Label | undefined;
  readonly openLabel?: Label | undefined;
}

export interface Label {
  readonly text: string;
  readonly doc: number;
}

/** In the order of their bytes, from which the numbers come. */
export type ValueTexts = Readonly<Record<ValueColumn, readonly ValueText[]>>;

type ColumnParts = Pick<Footer, 'columns' | 'orders' | 'values' | 'valueCounts' | 'traits'>;

export function writeColumns(columns: Columns, texts: ValueTexts, take: TakeBlock): ColumnParts {
  const docs = columns.traits.length;
  const written: Record<string, readonly ColumnBlock[]> = {};
  for (const name of NUMBER_COLUMNS) {
    const values = columns[name];
    if (name === 'atNs' && !values.some((value) => value !== 0)) continue;
    written[name] = eachBlock(docs, (from, end) =>
      numberBlock(values.subarray(from, end), columns.traits.subarray(from, end), take),
    );
  }
  for (const name of VALUE_COLUMNS) {
    const bytes = widthOf(texts[name].length);
    // However it was made, a doc without content has the same bytes.
    for (let doc = 0; doc < docs; doc++) if (columns.traits[doc] === NO_TRAITS) columns[name][doc] = 0;
    written[name] = eachBlock(docs, (from, end) => ({
      block: take(packed(columns[name].subarray(from, end), bytes)),
    }));
  }
  written['traits'] = eachBlock(docs, (from, end) => ({
    block: take(Buffer.from(columns.traits.subarray(from, end))),
  }));
  written['eventId'] = eachBlock(docs, (from, end) => ({
    block: take(Buffer.from(columns.eventId.subarray(from * EVENT_ID_BYTES, end * EVENT_ID_BYTES))),
  }));
  const orders: Partial<Record<OrderName, readonly number[]>> = {};
  for (const name of ORDERS) {
    const order = orderBy(name, columns);
    if (order !== undefined)
      orders[name] = eachBlock(docs, (from, end) => take(orderBlock(order, from, end)));
  }
  return {
    columns: written,
    orders,
    values: ofEachValue((name) => valueBlocks(texts[name], take)),
    valueCounts: ofEachValue((name) => texts[name].length),
    traits: countsOf(columns.traits),
  };
}

export function ofEachValue<T>(make: (column: ValueColumn) => T): Record<ValueColumn, T> {
  return { action: make('action'), actor: make('actor'), resourceType: make('resourceType') };
}

function eachBlock<T>(docs: number, write: (from: number, end: number) => T): T[] {
  const blocks: T[] = [];
  for (let from = 0; from < docs; from += COLUMN_DOCS)
    blocks.push(write(from, Math.min(docs, from + COLUMN_DOCS)));
  return blocks;
}

const scratch = new ByteWriter();

/** Docs without content have no part in the bounds. */
function numberBlock(values: Float64Array, traits: Uint8Array, take: TakeBlock): ColumnBlock {
  let last = 0;
  let min = Infinity;
  let max = -Infinity;
  for (const [doc, value] of values.entries()) {
    scratch.signed(value - last);
    last = value;
    if (traits[doc] === NO_TRAITS) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  const block = take(scratch.take());
  return min > max ? { block } : { block, min, max };
}

/** How many bytes each number of a column takes. */
export function widthOf(values: number): 1 | 2 | 4 {
  return values <= 0x100 ? 1 : values <= 0x1_0000 ? 2 : 4;
}

function packed(numbers: Uint32Array, width: 1 | 2 | 4): Buffer {
  const narrow =
    width === 1 ? new Uint8Array(numbers) : width === 2 ? new Uint16Array(numbers) : new Uint32Array(numbers);
  return Buffer.from(narrow.buffer, narrow.byteOffset, narrow.byteLength);
}

/** Where a doc stands is mostly near to where it stands in the log, so the difference is written. */
function orderBlock(order: Uint32Array, from: number, end: number): Buffer {
  for (let i = from; i < end; i++) scratch.signed(order[i]! - i);
  return scratch.take();
}

/** The docs from the lowest to the highest, up to the last that there is; those that are equal in the order of the log; undefined where all are. */
export function orderBy(
  name: OrderName,
  columns: Columns,
  docs = columns.traits.length,
): Uint32Array | undefined {
  const compare = name === 'time' ? compareTimes(columns) : compareEventIds(columns);
  let isInOrder = true;
  for (let doc = 1; doc < docs && isInOrder; doc++) isInOrder = compare(doc - 1, doc) <= 0;
  if (isInOrder) return undefined;
  return sortedDocs(docs, compare);
}

/** Equal docs stay in the order of the log. */
function sortedDocs(docs: number, compare: (a: number, b: number) => number): Uint32Array {
  const order = Uint32Array.from({ length: docs }, (_, doc) => doc);
  return order.sort((a, b) => compare(a, b) || a - b);
}

function compareTimes({ atMs, atNs }: Columns): (a: number, b: number) => number {
  return (a, b) => atMs[a]! - atMs[b]! || atNs[a]! - atNs[b]!;
}

function compareEventIds({ eventId }: Columns): (a: number, b: number) => number {
  return (a, b) => {
    for (let i = 0; i < EVENT_ID_BYTES; i++) {
      const order = eventId[a * EVENT_ID_BYTES + i]! - eventId[b * EVENT_ID_BYTES + i]!;
      if (order !== 0) return order;
    }
    return 0;
  };
}

function valueBlocks(texts: readonly ValueText[], take: TakeBlock): ValueBlock[] {
  const blocks: ValueBlock[] = [];
  let before = 0;
  for (const [i, value] of texts.entries()) {
    writeText(value.text);
    writeLabel(value.label);
    writeLabel(value.openLabel);
    if (scratch.length < BLOCK_BYTES && i + 1 < texts.length) continue;
    blocks.push({ block: take(scratch.take()), before });
    before = i + 1;
  }
  return blocks;
}

function writeText(text: string): void {
  const bytes = Buffer.from(text);
  scratch.varint(bytes.length);
  scratch.bytes(bytes);
}

function writeLabel(label: Label | undefined): void {
  scratch.varint(label === undefined ? 0 : label.doc + 1);
  if (label !== undefined) writeText(label.text);
}

function countsOf(traits: Uint8Array): [number, number][] {
  const counts = new Map<number, number>();
  for (const each of traits) if (each !== NO_TRAITS) counts.set(each, (counts.get(each) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b);
}
