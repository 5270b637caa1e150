// Events as a table for people, lot by lot. The first lot decides how wide the columns are; on a terminal they are fitted
// to its width, elsewhere nothing is cut. Where a line has no room for all columns an event takes several. Whatever an
// event says, it steers no terminal.

import type { Actor, AuditEvent } from '@tallystick/contract';
import { cutTo, padTo, widthOf } from '../output/fit-text.ts';
import { printable } from '../output/printable.ts';

const TITLES = ['TIME', 'ACTION', 'ACTOR', 'RESOURCE', 'OUTCOME', 'CLASSIFICATION'] as const;
/** A later lot may be wider than the first. */
const WIDTHS_MIN: readonly number[] = [24, 16, 12, 16, 7, 14];
/** Action, actor and resource can be cut; the others say nothing when they are. */
const FLEXIBLE: ReadonlySet<number> = new Set([1, 2, 3]);
/** What is shorter may be cut to the first, so that short events stay on one line; what is longer to the second. */
const CUT_MIN = 8;
const CUT_LONG_MIN = 12;
const GAP = '  ';
const INDENT = '  ';

/** The columns on each line of an event, from the widest terminal to the narrowest. */
const LAYOUTS: readonly (readonly (readonly number[])[])[] = [
  [[0, 1, 2, 3, 4, 5]],
  [
    [0, 1, 4],
    [2, 3, 5],
  ],
  [[0, 4], [1, 5], [2], [3]],
];

interface FittedLine {
  readonly columns: readonly number[];
  readonly widths: readonly number[];
}

export class EventTable {
  readonly #columns: number | undefined;
  readonly #paintTitle: (line: string) => string;
  #layout: readonly FittedLine[] | undefined;

  /** `columns` of the terminal; undefined, or 0 where it does not tell: nothing is cut. */
  constructor(columns: number | undefined, paintTitle = (line: string) => line) {
    this.#columns = columns === 0 ? undefined : columns;
    this.#paintTitle = paintTitle;
  }

  /** With the titles before the first of them. */
  lines(events: readonly AuditEvent[]): string[] {
    if (events.length === 0) return [];
    const rows = events.map(cellsOf);
    const isFirst = this.#layout === undefined;
    const layout = (this.#layout ??= layoutFor([TITLES, ...rows], this.#columns));
    const linesOf = (cells: readonly string[]) =>
      layout.map((line, i) => this.#line(cells, line, i === 0 ? '' : INDENT));
    return [...(isFirst ? linesOf(TITLES).map(this.#paintTitle) : []), ...rows.flatMap(linesOf)];
  }

  #line(cells: readonly string[], { columns, widths }: FittedLine, indent: string): string {
    const isCut = this.#columns !== undefined;
    const fitted = columns.map((column, i) =>
      padTo(isCut ? cutTo(cells[column]!, widths[i]!) : cells[column]!, widths[i]!),
    );
    const line = `${indent}${fitted.join(GAP)}`.trimEnd();
    return this.#columns === undefined ? line : cutTo(line, this.#columns);
  }
}

function cellsOf({ timestamp, action, actor, resource, outcome, classification }: AuditEvent): string[] {
  const { resourceType, resourceId } = resource;
  return [timestamp, action, nameOf(actor), `${resourceType} ${resourceId}`, outcome, classification].map(
    printable,
  );
}

/** The identifier, by which `actor:` finds it as a whole. */
function nameOf({ actorType, userId, serviceId, userName, serviceName }: Actor): string {
  return userId ?? serviceId ?? userName ?? serviceName ?? actorType;
}

/** The layout with the fewest lines that has room for every column. */
function layoutFor(rows: readonly (readonly string[])[], columns: number | undefined): FittedLine[] {
  const contents = TITLES.map((_, i) => rows.reduce((max, cells) => Math.max(max, widthOf(cells[i]!)), 0));
  const fitted = LAYOUTS.map((layout) =>
    layout.map((line, i) => fitLine(line, contents, columns && columns - (i === 0 ? 0 : INDENT.length))),
  );
  return fitted.find((layout) => layout.every(({ fits }) => fits)) ?? fitted.at(-1)!;
}

/** The widest column is cut first. */
function fitLine(
  columns: readonly number[],
  contents: readonly number[],
  room: number | undefined,
): FittedLine & { readonly fits: boolean } {
  const widths = columns.map((column) => Math.max(WIDTHS_MIN[column]!, contents[column]!));
  const least = columns.map((column, i) =>
    FLEXIBLE.has(column) ? Math.max(CUT_MIN, Math.min(CUT_LONG_MIN, contents[column]!)) : widths[i]!,
  );
  const missing = () =>
    room === undefined ? 0 : widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - room;
  while (missing() > 0) {
    const widest = widths.reduce(
      (best, width, i) => (width > least[i]! && width > (widths[best] ?? 0) ? i : best),
      -1,
    );
    if (widest === -1) break;
    widths[widest]!--;
  }
  return { columns, widths, fits: missing() <= 0 };
}
