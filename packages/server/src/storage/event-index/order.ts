// The order of a page in SQL: what is sorted by, and what lies beyond a place. `d` is docs.

import { eventIdBytes } from '@tallystick/evidence';
import type { OrderStep, SortKey } from '../../events/event-index.ts';
import type { Direction } from '../../paging.ts';

/** What a place is compared by. */
export type OrderValue = number | string | Uint8Array;

interface Column {
  readonly sql: string;
  readonly isDescending: boolean;
  readonly of: (place: SortKey) => OrderValue;
}

const AT: readonly Omit<Column, 'isDescending'>[] = [
  { sql: 'd.at_ms', of: ({ atMs }) => atMs },
  { sql: 'd.at_ns', of: ({ atNs }) => atNs },
];
const INDEX = { sql: 'd.leaf_index', of: ({ index }: SortKey) => index };
const EVENT_ID = { sql: 'd.event_id', of: ({ eventId }: SortKey) => eventIdBytes(eventId) };

/** An order that leaves no two events equal. */
export class Order {
  readonly #columns: readonly Column[];
  readonly usesAction: boolean;

  /** Backwards it is against the order: for pages that lead back. `action` is the column of actions. */
  constructor(steps: readonly OrderStep[], direction: Direction, action: string) {
    const columns: Column[] = [];
    let isDescending = false;
    for (const step of steps) {
      isDescending = step.isDescending;
      columns.push(
        ...columnsOf(step.field, action).map((column) => ({ ...column, isDescending: step.isDescending })),
      );
      // Nothing is equal any more.
      if (step.field === 'eventId') break;
    }
    const has = (sql: string) => columns.some((column) => column.sql === sql);
    if (!has(EVENT_ID.sql)) {
      if (!has(AT[0]!.sql)) columns.push(...AT.map((column) => ({ ...column, isDescending })));
      columns.push({ ...INDEX, isDescending });
    }
    this.#columns =
      direction === 'Next'
        ? columns
        : columns.map((column) => ({ ...column, isDescending: !column.isDescending }));
    this.usesAction = has(action);
  }

  get sql(): string {
    return this.#columns.map(({ sql, isDescending }) => `${sql}${isDescending ? ' DESC' : ''}`).join(', ');
  }

  /** What lies strictly beyond a place. `mark` says how a value stands in the statement; it is asked in their order. */
  beyond(place: SortKey, mark: (value: OrderValue) => string): string {
    const [first] = this.#columns;
    const isUniform = this.#columns.every(({ isDescending }) => isDescending === first!.isDescending);
    if (isUniform) {
      const names = this.#columns.map(({ sql }) => sql).join(', ');
      const marks = this.#columns.map(({ of }) => mark(of(place))).join(', ');
      return `(${names}) ${signOf(first!)} (${marks})`;
    }
    const branches = this.#columns.map((column, i) => {
      const before = this.#columns.slice(0, i).map(({ sql, of }) => `${sql} = ${mark(of(place))}`);
      return `(${[...before, `${column.sql} ${signOf(column)} ${mark(column.of(place))}`].join(' AND ')})`;
    });
    return `(${branches.join(' OR ')})`;
  }
}

function columnsOf(field: OrderStep['field'], action: string): readonly Omit<Column, 'isDescending'>[] {
  switch (field) {
    case 'timestamp':
      return AT;
    case 'eventId':
      return [EVENT_ID];
    case 'action':
      return [{ sql: action, of: (place) => place.action }];
  }
}

function signOf({ isDescending }: Column): '<' | '>' {
  return isDescending ? '<' : '>';
}
