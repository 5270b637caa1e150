// Events as the index reads them from journal.db: in the order of the log, all tenants together, or one tenant's alone.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { decodeEntry, isNotice, parseJson } from '@tallystick/evidence';
import type { Content, Facts } from '../../../events/show.ts';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { instant } from '../../../runtime/clock.ts';
import { blobOf, numberOf, readOr, textIn } from '../../rows/columns.ts';

/** A row of the log, not looked into yet. */
export interface LoggedRow {
  readonly entry: number;
  readonly tenant: number;
  readonly index: number;
  readonly row: Readonly<Record<string, unknown>>;
}

// Texts come as texts, which takes half the time that bytes do. Bytes that are none are replaced on the way: nobody but who
// has changed them put them there, and what is found is looked at before it is shown.
const COLUMNS = `entries.id AS id, entries.tenant AS tenant, leaf_index, entry, CAST(text1 AS TEXT) AS text1,
  CAST(text2 AS TEXT) AS text2, tenant_id,
  (SELECT stream_id FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;
const TABLES = 'entries LEFT JOIN contents USING (id) JOIN tenants ON tenants.tenant = entries.tenant';

export class LoggedEvents {
  readonly #beyond: StatementSync;
  readonly #ofTenant: StatementSync;
  readonly #one: StatementSync;
  readonly #ends: StatementSync;
  readonly #leaf: StatementSync;

  constructor(journal: DatabaseSync) {
    this.#beyond = journal.prepare(
      `SELECT ${COLUMNS} FROM ${TABLES} WHERE entries.id > ? ORDER BY entries.id LIMIT ?`,
    );
    this.#ofTenant = journal.prepare(
      `SELECT ${COLUMNS} FROM ${TABLES} WHERE entries.tenant = ? AND leaf_index >= ? AND leaf_index < ?
       ORDER BY leaf_index LIMIT ?`,
    );
    this.#one = journal.prepare(`SELECT ${COLUMNS} FROM ${TABLES} WHERE entries.id = ?`);
    this.#ends = journal.prepare(
      `SELECT (SELECT entry FROM entries WHERE tenant = ?1 ORDER BY leaf_index LIMIT 1) AS first,
              (SELECT entry FROM entries WHERE tenant = ?1 ORDER BY leaf_index DESC LIMIT 1) AS last`,
    );
    this.#leaf = journal.prepare('SELECT leaf FROM entries WHERE id = ?');
    // They would throw for a number that is too large, and so for all tenants.
    for (const statement of [this.#beyond, this.#ofTenant, this.#one]) statement.setReadBigInts(true);
  }

  /** Of all tenants, those behind a row of entries. */
  beyond(entry: number, limit: number): LoggedRow[] {
    return this.#beyond.all(entry, limit).map(loggedRow);
  }

  ofTenant(tenant: number, fromIndex: number, endIndex: number, limit: number): LoggedRow[] {
    return this.#ofTenant.all(tenant, fromIndex, endIndex, limit).map(loggedRow);
  }

  /** When the first and the last event of a tenant were received; undefined where there is none. */
  receivedBounds(tenant: number): { readonly firstMs: number; readonly lastMs: number } | undefined {
    const row = this.#ends.get(tenant);
    if (row?.['first'] === null) return undefined;
    const timeIn = (column: string) => decodeEntry(blobOf(row, column)).receivedAtMs;
    return { firstMs: timeIn('first'), lastMs: timeIn('last') };
  }

  /** Empty where somebody has put something else in its place. */
  leafOf(entry: number): Uint8Array {
    const row = this.#leaf.get(entry);
    return readOr(() => blobOf(row, 'leaf'), new Uint8Array(0));
  }

  one(entry: number): LoggedRow | undefined {
    const row = this.#one.get(entry);
    return row === undefined ? undefined : loggedRow(row);
  }
}

/** The index of a row that tells none. */
const NOWHERE = -1;

function loggedRow(row: Readonly<Record<string, unknown>>): LoggedRow {
  return {
    entry: numberOf(row, 'id'),
    tenant: numberOf(row, 'tenant'),
    index: readOr(() => numberOf(row, 'leaf_index'), NOWHERE),
    row,
  };
}

/** The whole event, as nobody but the index sees it; undefined where its content is removed. Throws if it is none. */
export function eventIn({ index, row }: LoggedRow): QueriedEvent | undefined {
  if (row['text1'] === null) return undefined;
  if (index === NOWHERE) throw new Error('it has no index');
  const { kind, eventId, receivedAtMs } = decodeEntry(blobOf(row, 'entry'));
  // The texts of a log are written by drafts alone, and have these members.
  const facts = parseJson(textIn(row, 'text1')) as Facts;
  const content = parseJson(textIn(row, 'text2')) as Content;
  // But somebody may have changed them.
  if (![facts, facts?.actor, facts?.resource, content].every(isObject) || typeof facts.timestamp !== 'string')
    throw new Error('it is no event');
  return {
    ...facts,
    ...content,
    eventId,
    tenantId: textIn(row, 'tenant_id'),
    kind: isNotice(kind) ? 'Notice' : 'Event',
    sequence: index + 1,
    receivedAt: instant(receivedAtMs),
    integrity: { streamId: textIn(row, 'stream_id') },
  };
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** The same of what was indexed before; undefined also where it has been changed since, so that it is no event any more. */
export function eventStillIn(row: LoggedRow): QueriedEvent | undefined {
  try {
    return eventIn(row);
  } catch {
    return undefined;
  }
}
