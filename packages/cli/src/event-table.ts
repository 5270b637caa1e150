// Events as a table for people, lot by lot. The first lot decides how wide the columns are; on a terminal they are fitted
// to its width, elsewhere nothing is cut. Whatever an event says, it steers no terminal.

import type { Actor, AuditEvent } from '@tallystick/contract';
import { cutTo, padTo, widthOf } from './fit-text.ts';
import { printable } from './printable.ts';

const TITLES = ['TIME', 'ACTION', 'ACTOR', 'RESOURCE', 'OUTCOME', 'CLASSIFICATION'] as const;
/** A later lot may be wider than the first. */
const WIDTHS_MIN: readonly number[] = [24, 16, 12, 16, 7, 14];
/** Action, actor and resource can be cut; the others say nothing when they are. */
const FLEXIBLE = [1, 2, 3] as const;
const CUT_MIN = 8;
const GAP = '  ';

export class EventTable {
  readonly #columns: number | undefined;
  #widths: readonly number[] | undefined;

  /** `columns` of the terminal; undefined: nothing is cut. */
  constructor(columns: number | undefined) {
    this.#columns = columns;
  }

  /** With the titles before the first of them. */
  lines(events: readonly AuditEvent[]): string[] {
    if (events.length === 0) return [];
    const rows = events.map(cellsOf);
    if (this.#widths !== undefined) return rows.map((cells) => this.#line(cells));
    this.#widths = widthsOf([TITLES, ...rows], this.#columns);
    return [TITLES, ...rows].map((cells) => this.#line(cells));
  }

  #line(cells: readonly string[]): string {
    const widths = this.#widths ?? WIDTHS_MIN;
    const isCut = this.#columns !== undefined;
    const fitted = cells.map((cell, i) => padTo(isCut ? cutTo(cell, widths[i]!) : cell, widths[i]!));
    const line = fitted.join(GAP).trimEnd();
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

function widthsOf(rows: readonly (readonly string[])[], columns: number | undefined): number[] {
  const widths = WIDTHS_MIN.map((min, i) =>
    rows.reduce((max, cells) => Math.max(max, widthOf(cells[i]!)), min),
  );
  const gaps = GAP.length * (widths.length - 1);
  const isTooWide = () => columns !== undefined && widths.reduce((sum, width) => sum + width, gaps) > columns;
  while (isTooWide()) {
    const widest = FLEXIBLE.reduce((a, b) => (widths[b]! > widths[a]! ? b : a));
    if (widths[widest]! <= CUT_MIN) break;
    widths[widest]!--;
  }
  return widths;
}
