// Whether a footer is one that a segment can be read by: its lists are as long as they should be, and each block is listed once,
// so that none is read as something else than it was written for.

import { requireSound } from './decoded.ts';
import {
  BLOCKS_MAX,
  COLUMN_DOCS,
  type ColumnBlock,
  FOOTER_BLOCK,
  type Footer,
  NUMBER_COLUMNS,
  ORDERS,
  VALUE_COLUMNS,
} from './segment-format.ts';
import { SECTIONS } from './terms.ts';

const COLUMNS = [...NUMBER_COLUMNS, ...VALUE_COLUMNS, 'traits', 'eventId'] as const;
/** Those that are left out where all are zero. */
const OPTIONAL = ['atNs'] as const satisfies readonly (typeof COLUMNS)[number][];
const TRAITS_MAX = 256;

/** Throws where somebody has changed it so that nothing can be read by it. */
export function validateFooter(footer: Footer): void {
  const { firstIndex, docs } = footer;
  requireSound([firstIndex, docs].every(isCount) && docs > 0, 'a segment without a range');
  const blocks = [...columnBlocks(footer), ...orderBlocks(footer), ...valueBlocks(footer)];
  for (const section of SECTIONS) blocks.push(footer.sections[section] ?? []);
  const listed = blocks.flat();
  requireSound(listed.every(isBlockNumber), 'a segment with blocks that are none');
  requireSound(new Set(listed).size === listed.length, 'a segment with a block for two purposes');
  requireCounts(footer);
}

function isBlockNumber(block: number): boolean {
  return Number.isSafeInteger(block) && block > FOOTER_BLOCK && block < BLOCKS_MAX;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

type Listed = number | readonly number[];

function columnBlocks({ docs, columns }: Footer): Listed[] {
  return COLUMNS.map((name) => {
    const listed = columns[name];
    if (listed === undefined && OPTIONAL.some((optional) => optional === name)) return [];
    requireSound(isOfAll(listed, docs) && listed!.every(hasBounds), `a column ${name} that is not whole`);
    return listed!.map(({ block }) => block);
  });
}

/** Or none. */
function hasBounds({ min, max }: ColumnBlock): boolean {
  return (min === undefined && max === undefined) || [min, max].every(Number.isSafeInteger);
}

function isOfAll(listed: readonly unknown[] | undefined, docs: number): boolean {
  return Array.isArray(listed) && listed.length === Math.ceil(docs / COLUMN_DOCS);
}

function orderBlocks({ docs, orders }: Footer): Listed[] {
  return ORDERS.map((name) => {
    const listed = orders[name];
    if (listed === undefined) return [];
    requireSound(isOfAll(listed, docs), `an order by ${name} that is not whole`);
    return listed;
  });
}

function valueBlocks({ values }: Footer): Listed[] {
  return VALUE_COLUMNS.map((name) => values[name].map(({ block }) => block));
}

/** Every doc with content has traits and values. */
function requireCounts({ docs, traits, valueCounts }: Footer): void {
  let withContent = 0;
  for (const [number, count] of traits) {
    requireSound(isCount(number) && number < TRAITS_MAX && isCount(count), 'traits that are none');
    withContent += count;
  }
  requireSound(withContent <= docs, 'more docs with traits than there are');
  for (const name of VALUE_COLUMNS) {
    const count = valueCounts[name];
    requireSound(isCount(count) && count > 0 === withContent > 0, `no values of ${name}`);
  }
}
