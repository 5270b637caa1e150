// Reads of the log, on a connection of their own: what they see is committed, and what they show of events is what was
// hashed.

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
import { bitsOf, classificationIn } from './classification-column.ts';
import { blobOf, blobOrNone, numberOf, numberOrNone, textIn, textOrNone } from './columns.ts';
import { CHECKED_COLUMNS, hasContent, StoredContents, textsIn } from './stored-content.ts';
import { TreeTables } from './tree-tables.ts';
import { findUsedKey, usedKeyOf } from './used-keys.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Row = Readonly<Record<string, unknown>>;

const EVENT_COLUMNS = `leaf_index, classification, ${CHECKED_COLUMNS}, expires_at_ms,
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
  /** Made when it is first needed: it has memory of its own, and not everybody who holds these tables reads events. */
  #contents: StoredContents | undefined;

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
    return row === undefined ? undefined : this.#eventsIn([row])[0];
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
    const rows: Row[] = [];
    let bytes = 0;
    const statement = isFromEnd ? this.#eventsFromEnd : this.#events;
    for (const row of statement.iterate(tenant, fromIndex, endIndex, limit)) {
      rows.push(row);
      bytes += lengthIn(row, 'text1') + lengthIn(row, 'text2');
      if (bytes >= bytesMax) break;
    }
    return this.#eventsIn(rows);
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

  #eventsIn(rows: readonly Row[]): StoredEvent[] {
    this.#contents ??= new StoredContents();
    const faults = this.#contents.faultsOf(rows);
    return rows.map((row, i) => eventIn(row, faults[i]));
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

function lengthIn(row: Row, column: string): number {
  return blobOrNone(row, column)?.length ?? 0;
}

function eventIn(row: Row, fault: string | undefined): StoredEvent {
  return {
    index: numberOf(row, 'leaf_index'),
    entry: blobOf(row, 'entry'),
    leaf: blobOf(row, 'leaf'),
    classification: classificationIn(row),
    streamId: textIn(row, 'stream_id'),
    content: fault !== undefined ? { fault } : hasContent(row) ? contentIn(row) : undefined,
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
  const [one, two] = textsIn(row);
  return {
    texts: [decoder.decode(one), decoder.decode(two)],
    expiresAtMs: numberOrNone(row, 'expires_at_ms'),
  };
}
