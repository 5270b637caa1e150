// Pages of a list, the same for every list and protocol. A cursor says where a page begins and which way it is read
// (`Cursors`, which the gateway makes); the operation reads one row more than a page shows, from there and in that
// direction, and gets a page of them. Rows are told apart by a key in the order of the list, so nothing is shown twice
// or left out when rows are added meanwhile, and walking back shows the pages that were walked through.

import { AuditError, ERRORS, LIMITS, type OperationName, type Page } from '@tallystick/contract';
import type { TenantRecord } from './access/tenants.ts';
import type { Call } from './call.ts';

export type Direction = 'Next' | 'Previous';

/** Where a page begins and which way it leads from there. */
export interface Position {
  readonly direction: Direction;
  /** A small JSON value: the key of the row that the page lies beyond. Null: from the edge of the list. */
  readonly at: unknown;
}

/** The requests that a cursor is valid for. */
export interface CursorScope {
  /** Undefined for a tenant that has not written yet: it has no list to page through. */
  readonly tenant: TenantRecord | undefined;
  readonly operation: OperationName;
  /** All that decides which rows are listed, and in which order. */
  readonly asked: Readonly<Record<string, unknown>>;
}

export interface Cursors {
  make(scope: CursorScope, position: Position): string;
  /** Throws CURSOR_INVALID, CURSOR_MISMATCH or CURSOR_EXPIRED. */
  read(scope: CursorScope, cursor: string): Position;
}

/** The input of an operation that lists. */
export interface PagedInput {
  readonly limit?: number;
  readonly cursor?: string;
}

/** What to read for one page, and what becomes of it. */
export interface PageRead<Key> {
  /** Next: in the order of the list. Previous: against it, the nearest rows first. */
  readonly direction: Direction;
  /** Only rows that lie strictly beyond this one; undefined: from the edge of the list. */
  readonly beyond: Key | undefined;
  /** One more than the page shows, which tells whether there is another page. */
  readonly rowsMax: number;
  /**
   * `rows` as they were read; `count` is how many the whole list has, or has at least if it is past the exact limit.
   * `isCut`: fewer were read than are there, because they are large.
   */
  page<Row>(rows: readonly Row[], keyOf: (row: Row) => Key, count: number, isCut?: boolean): Page<Row>;
}

/** Rows of a list whose order is that of their ids. For ULIDs that is by age. */
export interface RowsRequest {
  readonly way: 'Falling' | 'Rising';
  /** The id of a row; undefined: from that end. */
  readonly beyond: string | undefined;
  readonly limit: number;
}

/** What to read for a page of a list that begins with the newest. */
export function newestFirst({ direction, beyond, rowsMax }: PageRead<string>): RowsRequest {
  return { way: direction === 'Next' ? 'Falling' : 'Rising', beyond, limit: rowsMax };
}

/** What to read for a page of a list that is in the order of its ids. */
export function inOrder({ direction, beyond, rowsMax }: PageRead<string>): RowsRequest {
  return { way: direction === 'Next' ? 'Rising' : 'Falling', beyond, limit: rowsMax };
}

/** What is asked of a list that is in memory as a whole, in the order of its ids. */
export function rowsIn<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  { way, beyond, limit }: RowsRequest,
): Row[] {
  const ordered = way === 'Rising' ? rows : rows.toReversed();
  const isBeyond = (id: string) => beyond === undefined || (way === 'Rising' ? id > beyond : id < beyond);
  return ordered.filter((row) => isBeyond(idOf(row))).slice(0, limit);
}

export const isId = (value: unknown): value is string => typeof value === 'string';

/** Keys that are an index or a sequence. */
export const isIndex = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** `isKey` holds off what another version of this service has made. Throws CURSOR_*. */
export function readPage<Key>(
  cursors: Cursors,
  call: Pick<Call, 'operation' | 'tenantRecord'>,
  input: PagedInput,
  isKey: (value: unknown) => value is Key,
): PageRead<Key> {
  const { limit = LIMITS.pageSizeDefault, cursor, ...asked } = input;
  const scope = { tenant: call.tenantRecord, operation: call.operation, asked };
  const { direction, at } = cursor === undefined ? FIRST : cursors.read(scope, cursor);
  if (at !== null && !isKey(at)) throw cursorError('CURSOR_INVALID');
  const beyond = at === null ? undefined : at;

  return {
    direction,
    beyond,
    rowsMax: limit + 1,
    page(rows, keyOf, count, isCut = false) {
      const data = rows.slice(0, limit);
      if (direction === 'Previous') data.reverse();
      // An empty page has no row to go on from: it ends the walk.
      const isMoreAhead = data.length > 0 && (isCut || rows.length > limit);
      // A request with a cursor comes from the row that the cursor names.
      const isMoreBehind = beyond !== undefined;
      const hasMore = direction === 'Next' ? isMoreAhead : isMoreBehind;
      const hasPrevious = direction === 'Next' ? isMoreBehind : isMoreAhead;
      // Of a page that has become empty one gets back to the edge of the list.
      const lead = (to: Direction, row: (typeof data)[number] | undefined) =>
        cursors.make(scope, { direction: to, at: row === undefined ? null : keyOf(row) });
      return {
        data,
        pagination: {
          total: count,
          totalRelation: count > LIMITS.listExactTotalMax ? 'AtLeast' : 'Exact',
          limit,
          cursor: hasMore ? lead('Next', data.at(-1)) : null,
          previousCursor: hasPrevious ? lead('Previous', data[0]) : null,
          hasMore,
        },
      };
    },
  };
}

const FIRST: Position = { direction: 'Next', at: null };

export function cursorError(code: 'CURSOR_INVALID' | 'CURSOR_MISMATCH' | 'CURSOR_EXPIRED'): AuditError {
  return new AuditError(code, ERRORS[code].meaning);
}
