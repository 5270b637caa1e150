// What a segment is made of. It covers a range of a tenant's log; a doc is an event, by its index behind the first. Its
// parts are blocks of some ten kilobytes, compressed and, for content that must not lie in the clear, encrypted. Block 0 is
// the footer, which says where everything else is.
//
//   section     a dictionary of terms, the docs that have each, and the places of words in them
//   column      one value of each doc, 8,192 docs a block
//   order       the docs sorted by a column, where that is not the order of the log
//   values      the texts that a column of numbers stands for

import type { Section } from './terms.ts';

/** What is made by another format, or cut into words by other rules, is made again. */
export const FORMAT = 4;
export const FOOTER_BLOCK = 0;
/** Of a block, before it is compressed. */
export const BLOCK_BYTES = 32 * 1024;
export const COLUMN_DOCS = 8192;
/** Blocks of a segment have lower numbers; a higher one may be that of another segment. */
export const BLOCKS_MAX = 2 ** 20;
/** Terms between two that are written whole. */
export const RESTART = 16;
/** Lists of docs and places up to here are beside their term; longer ones are in a stream of their own. */
export const INLINE_BYTES = 32;

/** Whether a list of docs is written as bits. Where all have a term, nothing is written. */
export function isDense(count: number, docs: number): boolean {
  return count * 8 > docs;
}

export const NUMBER_COLUMNS = ['atMs', 'atNs', 'receivedMs'] as const;
export type NumberColumn = (typeof NUMBER_COLUMNS)[number];
/** Their numbers are places in a list of texts. */
export const VALUE_COLUMNS = ['action', 'actor', 'resourceType'] as const;
export type ValueColumn = (typeof VALUE_COLUMNS)[number];
export type Column = NumberColumn | ValueColumn | 'traits' | 'eventId';
export const ORDERS = ['time', 'eventId'] as const;
export type OrderName = (typeof ORDERS)[number];

export interface Footer {
  readonly format: number;
  /** Of the log. */
  readonly firstIndex: number;
  readonly docs: number;
  /** Blocks of the roots of sections; one without terms has none. */
  readonly sections: Readonly<Partial<Record<Section, number>>>;
  readonly columns: Readonly<Partial<Record<Column, readonly ColumnBlock[]>>>;
  /** None where it is the order of the log. */
  readonly orders: Readonly<Partial<Record<OrderName, readonly number[]>>>;
  readonly values: Readonly<Record<ValueColumn, readonly ValueBlock[]>>;
  readonly valueCounts: Readonly<Record<ValueColumn, number>>;
  /** By their number, how many docs have such traits. */
  readonly traits: readonly (readonly [traits: number, docs: number])[];
}

export interface ColumnBlock {
  readonly block: number;
  /** Of a column of numbers; none where no doc has content. */
  readonly min?: number;
  readonly max?: number;
}

export interface ValueBlock {
  readonly block: number;
  /** How many values there are before it. */
  readonly before: number;
}

/** Takes a block and gives its number; `section` is that of a block that may have to be encrypted. */
export type TakeBlock = (raw: Buffer, section?: Section) => number;
