// The order of a page in SQL: what is sorted by, and what lies beyond a place. `d` is docs, `k` the key of its action.

import type { SQLInputValue } from 'node:sqlite';
import { eventIdBytes } from '@tallystick/evidence';
import type { OrderStep, Place } from '../../../events/event-index.ts';
import type { Direction } from '../../../paging.ts';

interface Column {
  readonly sql: string;
  readonly isDescending: boolean;
  readonly of: (place: Place) => SQLInputValue;
}

const AT: readonly Omit<Column, 'isDescending'>[] = [
  { sql: 'd.at_ms', of: ({ atMs }) => atMs },
  { sql: 'd.at_ns', of: ({ atNs }) => atNs },
];
const INDEX = { sql: 'd.leaf_index', of: ({ index }: Place) => index };
const EVENT_ID = { sql: 'd.event_id', of: ({ eventId }: Place) => eventIdBytes(eventId) };
const ACTION = { sql: 'k.text', of: ({ action }: Place) => action };

/** An order that leaves no two events equal. */
export class Order {
  readonly #columns: readonly Column[];
  readonly usesAction: boolean;

  /** Against the order: for pages that lead back. */
  constructor(steps: readonly OrderStep[], direction: Direction) {
    const columns: Column[] = [];
    let isDescending = false;
    for (const step of steps) {
      isDescending = step.isDescending;
      columns.push(
        ...columnsOf(step.field).map((column) => ({ ...column, isDescending: step.isDescending })),
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
    this.usesAction = has(ACTION.sql);
  }

  get sql(): string {
    return this.#columns.map(({ sql, isDescending }) => `${sql}${isDescending ? ' DESC' : ''}`).join(', ');
  }

  /** What lies strictly beyond a place, and its parameters. */
  beyond(place: Place): { readonly sql: string; readonly values: SQLInputValue[] } {
    const values = this.#columns.map(({ of }) => of(place));
    const [first] = this.#columns;
    const isUniform = this.#columns.every(({ isDescending }) => isDescending === first!.isDescending);
    if (isUniform) {
      const names = this.#columns.map(({ sql }) => sql).join(', ');
      const marks = this.#columns.map(() => '?').join(', ');
      return { sql: `(${names}) ${signOf(first!)} (${marks})`, values };
    }
    const branches = this.#columns.map((column, i) => {
      const before = this.#columns.slice(0, i).map(({ sql }) => `${sql} = ?`);
      return `(${[...before, `${column.sql} ${signOf(column)} ?`].join(' AND ')})`;
    });
    return {
      sql: `(${branches.join(' OR ')})`,
      values: this.#columns.flatMap((_, i) => values.slice(0, i + 1)),
    };
  }
}

function columnsOf(field: OrderStep['field']): readonly Omit<Column, 'isDescending'>[] {
  switch (field) {
    case 'timestamp':
      return AT;
    case 'eventId':
      return [EVENT_ID];
    case 'action':
      return [ACTION];
  }
}

function signOf({ isDescending }: Column): '<' | '>' {
  return isDescending ? '<' : '>';
}
