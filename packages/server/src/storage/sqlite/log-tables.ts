// Reads of the log, on a connection of their own: what they see is committed.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Classification, EventId, OperationName, StreamId, TenantId } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import type {
  EventsWay,
  StoredContent,
  StoredEvent,
  StoredStream,
  StreamsBeyond,
  UsedKey,
} from '../../streams/log.ts';
import { blobOf, blobOrNone, numberOf, numberOrNone, textIn, textOrNone } from './columns.ts';
import { CLASSIFICATIONS } from './schema.ts';
import { TreeTables } from './tree-tables.ts';
import { findUsedKey, usedKeyOf } from './used-keys.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Row = Readonly<Record<string, unknown>>;

const EVENT_COLUMNS = `leaf_index, entry, leaf, classification, contents.id AS content_id, text1, text2, expires_at_ms,
  (SELECT stream_id FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;

/** A stream ends where the next one begins. One statement sees one state, also while events are appended. */
const STREAMS = `
  SELECT this.stream_id, this.first_index, this.created_at_ms, next.created_at_ms AS sealed_at_ms,
    before.stream_id AS previous_stream_id,
    coalesce(next.first_index, (SELECT max(leaf_index) + 1 FROM entries WHERE tenant = this.tenant), 0) AS end_index,
    (SELECT leaf FROM entries WHERE tenant = this.tenant AND leaf_index = this.first_index - 1) AS previous_leaf,
    (SELECT leaf FROM entries WHERE tenant = this.tenant
       AND leaf_index < coalesce(next.first_index, 9007199254740991) ORDER BY leaf_index DESC LIMIT 1) AS last_leaf
  FROM streams AS this
  LEFT JOIN streams AS next ON next.tenant = this.tenant AND next.first_index =
    (SELECT min(first_index) FROM streams WHERE tenant = this.tenant AND first_index > this.first_index)
  LEFT JOIN streams AS before ON before.tenant = this.tenant AND before.first_index =
    (SELECT max(first_index) FROM streams WHERE tenant = this.tenant AND first_index < this.first_index)`;

export class LogTables {
  readonly #trees: TreeTables;
  readonly #tenant: StatementSync;
  readonly #event: StatementSync;
  readonly #events: StatementSync;
  readonly #eventsFromEnd: StatementSync;
  readonly #streamsBefore: StatementSync;
  readonly #streamsAfter: StatementSync;
  readonly #stream: StatementSync;
  readonly #streamCount: StatementSync;
  readonly #usedKey: StatementSync;

  constructor(db: DatabaseSync, logOrigin: string) {
    this.#trees = new TreeTables(db, logOrigin);
    this.#tenant = db.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?');
    this.#event = db.prepare(
      `SELECT ${EVENT_COLUMNS} FROM entries LEFT JOIN contents USING (id)
       WHERE event_id = ? AND tenant = ? AND (? >> classification) & 1`,
    );
    this.#events = db.prepare(
      `SELECT ${EVENT_COLUMNS} FROM entries LEFT JOIN contents USING (id)
       WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index LIMIT ?`,
    );
    this.#eventsFromEnd = db.prepare(
      `SELECT ${EVENT_COLUMNS} FROM entries LEFT JOIN contents USING (id)
       WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index DESC LIMIT ?`,
    );
    this.#streamsBefore = db.prepare(
      `${STREAMS} WHERE this.tenant = ? AND this.first_index < ? ORDER BY this.first_index DESC LIMIT ?`,
    );
    this.#streamsAfter = db.prepare(
      `${STREAMS} WHERE this.tenant = ? AND this.first_index > ? ORDER BY this.first_index LIMIT ?`,
    );
    this.#stream = db.prepare(`${STREAMS} WHERE this.stream_id = ? AND this.tenant = ?`);
    this.#streamCount = db.prepare('SELECT count(*) AS count FROM streams WHERE tenant = ?');
    this.#usedKey = findUsedKey(db);
  }

  event(tenantId: TenantId, eventId: EventId, visible: readonly Classification[]): StoredEvent | undefined {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return undefined;
    const row = this.#event.get(eventIdBytes(eventId), tenant, bitsOf(visible));
    return row === undefined ? undefined : eventIn(row);
  }

  events(
    tenantId: TenantId,
    fromIndex: number,
    endIndex: number,
    limit: number,
    { isFromEnd = false, bytesMax = Number.POSITIVE_INFINITY }: EventsWay = {},
  ): StoredEvent[] {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return [];
    const found: StoredEvent[] = [];
    let bytes = 0;
    const statement = isFromEnd ? this.#eventsFromEnd : this.#events;
    for (const row of statement.iterate(tenant, fromIndex, endIndex, limit)) {
      found.push(eventIn(row));
      bytes += lengthIn(row, 'text1') + lengthIn(row, 'text2');
      if (bytes >= bytesMax) break;
    }
    return found;
  }

  streams(tenantId: TenantId, beyond: StreamsBeyond, limit: number): StoredStream[] {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return [];
    const rows =
      'before' in beyond
        ? this.#streamsBefore.all(tenant, beyond.before ?? Number.MAX_SAFE_INTEGER, limit)
        : this.#streamsAfter.all(tenant, beyond.after ?? -1, limit);
    return rows.map((row) => this.#streamIn(row, tenantId));
  }

  stream(tenantId: TenantId, streamId: StreamId): StoredStream | undefined {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return undefined;
    const row = this.#stream.get(streamId, tenant);
    return row === undefined ? undefined : this.#streamIn(row, tenantId);
  }

  streamCount(tenantId: TenantId): number {
    const tenant = this.#numberOf(tenantId);
    return tenant === undefined ? 0 : numberOf(this.#streamCount.get(tenant), 'count');
  }

  usedKey(
    tenantId: TenantId,
    operation: OperationName,
    key: string,
    steadyNowMs: number,
  ): UsedKey | undefined {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return undefined;
    return usedKeyOf(this.#usedKey.get(tenant, operation, key), steadyNowMs);
  }

  #streamIn(row: Row, tenantId: TenantId): StoredStream {
    const firstIndex = numberOf(row, 'first_index');
    const log = this.#trees.log(tenantId, firstIndex);
    return streamIn(row, log?.firstIndex === firstIndex ? log.genesis : blobOf(row, 'previous_leaf'));
  }

  #numberOf(tenantId: TenantId): number | undefined {
    const row = this.#tenant.get(tenantId);
    return row === undefined ? undefined : numberOf(row, 'tenant');
  }
}

/** One bit for each classification, at its place in the list of the schema. */
export function bitsOf(classifications: readonly Classification[]): number {
  return classifications.reduce((bits, each) => bits | (1 << CLASSIFICATIONS.indexOf(each)), 0);
}

export function classificationIn(row: Row): Classification {
  const place = numberOf(row, 'classification');
  const classification = CLASSIFICATIONS[place];
  if (classification === undefined) throw new Error(`an event has the unknown classification ${place}`);
  return classification;
}

function lengthIn(row: Row, column: string): number {
  return blobOrNone(row, column)?.length ?? 0;
}

function eventIn(row: Row): StoredEvent {
  return {
    index: numberOf(row, 'leaf_index'),
    entry: blobOf(row, 'entry'),
    leaf: blobOf(row, 'leaf'),
    classification: classificationIn(row),
    streamId: textIn(row, 'stream_id'),
    content: row['content_id'] === null ? undefined : contentIn(row),
  };
}

function streamIn(row: Row, genesis: Uint8Array): StoredStream {
  return {
    streamId: textIn(row, 'stream_id'),
    previousStreamId: textOrNone(row, 'previous_stream_id'),
    firstIndex: numberOf(row, 'first_index'),
    endIndex: numberOf(row, 'end_index'),
    createdAtMs: numberOf(row, 'created_at_ms'),
    sealedAtMs: numberOrNone(row, 'sealed_at_ms'),
    genesis,
    head: blobOrNone(row, 'last_leaf') ?? genesis,
  };
}

function contentIn(row: Row): StoredContent {
  return {
    texts: [decoder.decode(blobOf(row, 'text1')), decoder.decode(blobOf(row, 'text2'))],
    expiresAtMs: numberOrNone(row, 'expires_at_ms'),
  };
}
