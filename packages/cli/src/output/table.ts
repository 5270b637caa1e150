// A table for people: the titles, then a line for each row, each column as wide as its widest cell. Whatever a cell says, it
// steers no terminal.

import { padTo, widthOf } from './fit-text.ts';
import { paint } from './paint.ts';
import { printable } from './printable.ts';

/** The cell of each column, by its title. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | undefined>>;

const GAP = '  ';
const EMPTY = '-';

export function tableLines<Row>(columns: Columns<Row>, rows: readonly Row[]): string[] {
  const titles = Object.keys(columns);
  const cells = rows.map((row) => Object.values(columns).map((cellOf) => printable(cellOf(row) ?? EMPTY)));
  const widths = titles.map((title, i) =>
    cells.reduce((max, row) => Math.max(max, widthOf(row[i]!)), widthOf(title)),
  );
  const [head = '', ...lines] = [titles, ...cells].map((row) =>
    row
      .map((cell, i) => padTo(cell, widths[i]!))
      .join(GAP)
      .trimEnd(),
  );
  return [paint('bold', head), ...lines];
}
