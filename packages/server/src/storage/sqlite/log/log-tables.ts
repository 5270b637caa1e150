// Reads of the log, on their own connection: they see committed data, and return events that match their hashes.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Classification, EventId, OperationName, StreamId, TenantId } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import type {
  EventsWay,
  StoredEvent,
  StoredStream,
  StreamState,
  StreamsBeyond,
  UsedIdempotencyKey,
} from '../../../streams/log.ts';
import type { Deletion, DuePortion, ExpiredRun, IndexSpan } from '../../../streams/removal/removal.ts';
import { bitsOf } from '../../rows/classification-column.ts';
import { DeletionRows, IS_EVENT, NOTICES_OF_ENTRY } from './deletions.ts';
import { ExpiredContents } from './expired-contents.ts';
import { MAY_BE_SEEN } from './may-be-seen.ts';
import { numberOf } from '../../rows/columns.ts';
import { IS_HOLD_NOTICE } from '../../rows/hold-notices.ts';
import { SealedRows } from '../../sealing/sealed-rows.ts';
import { StoredEvents, textBytesOf } from '../../rows/event-row.ts';
import { type Purge, purgeIn } from '../../rows/purge-notice.ts';
import { type Redaction, redactionIn } from '../../rows/redaction-notice.ts';
import { noticesNamedBy } from '../../rows/removed-rows.ts';
import { CHECKED_COLUMNS, decidedBy, StoredContents } from '../../rows/stored-content.ts';
import { statesWanted, streamIn } from '../../rows/stream-row.ts';
import { OF_STATES, STREAMS } from './stream-rows.ts';
import { TreeTables } from '../tree/tree-tables.ts';
import { usedKeyOf } from '../../rows/used-key-row.ts';
import { StoredKeys } from '../append/used-keys.ts';

type Row = Readonly<Record<string, unknown>>;

const EVENT_COLUMNS = `${CHECKED_COLUMNS}, ${NOTICES_OF_ENTRY}, ${decidedBy('tenant')},
  (SELECT stream_id FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;

/** The number of events per read: a page of large events is read in portions. */
const PORTION = 100;

export class LogTables {
  readonly #trees: TreeTables;
  readonly #tenant: StatementSync;
  readonly #event: StatementSync;
  readonly #events: StatementSync;
  readonly #eventsFromEnd: StatementSync;
  readonly #eventAt: StatementSync;
  readonly #holdNotices: StatementSync;
  readonly #streamsBefore: StatementSync;
  readonly #streamsAfter: StatementSync;
  readonly #stream: StatementSync;
  readonly #streamCount: StatementSync;
  readonly #usedKeys: StoredKeys;
  readonly #contentCount: StatementSync;
  readonly #deletions: DeletionRows;
  readonly #expired: ExpiredContents;
  readonly #sealed: SealedRows;
  readonly #stored: StoredEvents;

  constructor(db: DatabaseSync, logOrigin: string, sealed = new SealedRows(undefined)) {
    this.#sealed = sealed;
    this.#stored = new StoredEvents(sealed);
    this.#trees = new TreeTables(db, logOrigin);
    this.#tenant = db.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?');
    this.#event = db.prepare(
      `SELECT ${EVENT_COLUMNS} FROM entries LEFT JOIN contents USING (id)
       WHERE event_id = ?1 AND tenant = ?2 AND ${MAY_BE_SEEN}`,
    );
    this.#events = db.prepare(
      `SELECT ${EVENT_COLUMNS} FROM entries LEFT JOIN contents USING (id)
       WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index LIMIT ?`,
    );
    this.#eventsFromEnd = db.prepare(
      `SELECT ${EVENT_COLUMNS} FROM entries LEFT JOIN contents USING (id)
       WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index DESC LIMIT ?`,
    );
    this.#eventAt = db.prepare(
      `SELECT ${EVENT_COLUMNS} FROM entries LEFT JOIN contents USING (id) WHERE tenant = ? AND leaf_index = ?`,
    );
    this.#holdNotices = db.prepare(
      `SELECT ${EVENT_COLUMNS} FROM entries LEFT JOIN contents USING (id)
       WHERE tenant = ? AND leaf_index >= ? AND ${IS_HOLD_NOTICE.SQLite} ORDER BY leaf_index LIMIT ?`,
    );
    for (const statement of [
      this.#event,
      this.#events,
      this.#eventsFromEnd,
      this.#eventAt,
      this.#holdNotices,
    ])
      statement.setReadBigInts(true);
    this.#streamsBefore = db.prepare(
      `${STREAMS} WHERE this.tenant = ? AND this.first_index < ? AND ${OF_STATES} ORDER BY this.first_index DESC LIMIT ?`,
    );
    this.#streamsAfter = db.prepare(
      `${STREAMS} WHERE this.tenant = ? AND this.first_index > ? AND ${OF_STATES} ORDER BY this.first_index LIMIT ?`,
    );
    this.#stream = db.prepare(`${STREAMS} WHERE this.stream_id = ? AND this.tenant = ?`);
    this.#streamCount = db.prepare(
      'SELECT count(*) AS count, count(purged_at_ms) AS purged FROM streams WHERE tenant = ?',
    );
    this.#usedKeys = new StoredKeys(db);
    this.#contentCount = db.prepare(
      `SELECT count(*) AS count FROM entries JOIN contents USING (id)
       WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ? AND ${IS_EVENT}`,
    );
    this.#deletions = new DeletionRows(db);
    this.#expired = new ExpiredContents(db);
  }

  /** Includes an event whose text has a visible classification even if its column does not. */
  event(tenantId: TenantId, eventId: EventId, visible: readonly Classification[]): StoredEvent | undefined {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return undefined;
    const row = this.#event.get(eventIdBytes(eventId), tenant, bitsOf(visible));
    if (row === undefined || !this.#sealed.mayBeSeen(row, visible)) return undefined;
    return this.#eventsIn(tenant, [row])[0];
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
    const statement = isFromEnd ? this.#eventsFromEnd : this.#events;
    const rows: Row[] = [];
    let bytes = 0;
    let [from, end] = [fromIndex, endIndex];
    while (rows.length < limit && bytes < bytesMax) {
      // Read at once, rows cost two thirds of what they do one by one.
      const portion = Math.min(PORTION, limit - rows.length);
      const read = statement.all(tenant, from, end, portion);
      for (const row of read) {
        if (bytes >= bytesMax) break;
        rows.push(row);
        bytes += textBytesOf(row);
      }
      if (read.length < portion) break;
      const last = numberOf(read.at(-1), 'leaf_index');
      if (isFromEnd) end = last;
      else from = last + 1;
    }
    return this.#eventsIn(tenant, rows);
  }

  /**
   * The events at these indexes, by index, and the number of indexes processed: reading stops once the texts reach this
   * size. At least one is read, and missing events are left out.
   */
  eventsAt(
    tenantId: TenantId,
    indexes: readonly number[],
    bytesMax: number,
  ): { readonly events: ReadonlyMap<number, StoredEvent>; readonly readCount: number } {
    const tenant = this.#numberOf(tenantId);
    const rows: Row[] = [];
    const found: number[] = [];
    let readCount = 0;
    let bytes = 0;
    for (const index of tenant === undefined ? [] : indexes) {
      if (bytes >= bytesMax) break;
      readCount += 1;
      const row = this.#eventAt.get(tenant!, index);
      if (row === undefined) continue;
      rows.push(row);
      found.push(index);
      bytes += textBytesOf(row);
    }
    const events = tenant === undefined ? [] : this.#eventsIn(tenant, rows);
    return { events: new Map(found.map((index, i) => [index, events[i]!])), readCount };
  }

  holdNotices(tenantId: TenantId, fromIndex: number, limit: number): StoredEvent[] {
    const tenant = this.#numberOf(tenantId);
    return tenant === undefined
      ? []
      : this.#eventsIn(tenant, this.#holdNotices.all(tenant, fromIndex, limit));
  }

  streams(
    tenantId: TenantId,
    beyond: StreamsBeyond,
    limit: number,
    states?: readonly StreamState[],
  ): StoredStream[] {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return [];
    const wanted = statesWanted(states);
    const rows =
      'before' in beyond
        ? this.#streamsBefore.all(tenant, beyond.before ?? Number.MAX_SAFE_INTEGER, ...wanted, limit)
        : this.#streamsAfter.all(tenant, beyond.after ?? -1, ...wanted, limit);
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

  purgedStreamCount(tenantId: TenantId): number {
    const tenant = this.#numberOf(tenantId);
    return tenant === undefined ? 0 : numberOf(this.#streamCount.get(tenant), 'purged');
  }

  /** See RemovalStore, as for the next ones. */
  dueStreams(untilMs: number, from: string | undefined): DuePortion {
    return this.#expired.dueStreams(untilMs, from);
  }

  expirySpan(tenantId: TenantId, untilMs: number): IndexSpan | undefined {
    const tenant = this.#numberOf(tenantId);
    return tenant === undefined ? undefined : this.#expired.expirySpan(tenant, untilMs);
  }

  expired(tenantId: TenantId, span: IndexSpan, untilMs: number): ExpiredRun[] {
    const tenant = this.#numberOf(tenantId);
    return tenant === undefined ? [] : this.#expired.expired(tenant, span, untilMs);
  }

  usedKey(
    tenantId: TenantId,
    operation: OperationName,
    key: string,
    steadyNowMs: number,
  ): UsedIdempotencyKey | undefined {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return undefined;
    return usedKeyOf(this.#usedKeys.find(tenant, operation, key), steadyNowMs);
  }

  deletions(tenantId: TenantId, span: IndexSpan, limit: number): Deletion[] {
    const tenant = this.#numberOf(tenantId);
    return tenant === undefined ? [] : this.#deletions.overlapping(tenant, span, limit);
  }

  countContents(tenantId: TenantId, spans: readonly IndexSpan[]): number {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return 0;
    const countOf = ({ firstIndex, endIndex }: IndexSpan) =>
      numberOf(this.#contentCount.get(tenant, firstIndex, endIndex), 'count');
    return spans.reduce((sum, span) => sum + countOf(span), 0);
  }

  /** Undefined unless there is a purge notice at this index that matches its hash. */
  purge(tenantId: TenantId, noticeIndex: number): Purge | undefined {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return undefined;
    return purgeIn(this.#eventAt.get(tenant, noticeIndex), new StoredContents());
  }

  /** Those of the entries at these indexes that are redaction notices and match their hashes. */
  redactions(tenantId: TenantId, noticeIndexes: readonly number[]): Redaction[] {
    const tenant = this.#numberOf(tenantId);
    if (tenant === undefined) return [];
    const contents = new StoredContents();
    return noticeIndexes.flatMap((index) => redactionIn(this.#eventAt.get(tenant, index), contents) ?? []);
  }

  #eventsIn(tenant: number, rows: readonly Row[]): StoredEvent[] {
    const notices = noticesNamedBy(rows).map((index) => this.#eventAt.get(tenant, index));
    return this.#stored.of(rows, notices);
  }

  #streamIn(row: Row, tenantId: TenantId): StoredStream {
    return streamIn(row, this.#trees.log(tenantId, numberOf(row, 'first_index'))!);
  }

  #numberOf(tenantId: TenantId): number | undefined {
    const row = this.#tenant.get(tenantId);
    return row === undefined ? undefined : numberOf(row, 'tenant');
  }
}
