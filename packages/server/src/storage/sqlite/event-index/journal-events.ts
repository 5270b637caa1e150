// The log as the index reads it from journal.db.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import type { StoredEvent } from '../../../streams/log.ts';
import type { IndexSpan } from '../../../streams/removal/removal.ts';
import {
  type EventRow,
  eventStillIn,
  leafIn,
  loggedEvent,
  missingAt,
  redactionsOf,
  removedBy,
  withDeletedUnits,
} from '../../event-index/logged-event.ts';
import { KnownRemovals, removalOf } from '../../event-index/known-removals.ts';
import {
  type IndexedLog,
  type LogBehind,
  type LoggedEvent,
  READ_BYTES_MAX,
  type ReadTogether,
  type Removal,
} from '../../event-index/store/segment-store.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { indexKeyIn } from '../../rows/tenant-row.ts';
import { SealedRows } from '../../sealing/sealed-rows.ts';
import { LogTables } from '../log/log-tables.ts';
import { LoggedEvents, type NumberedTenant } from './logged-events.ts';

const PORTION = 1024;

export class JournalEvents implements IndexedLog {
  readonly #events: LoggedEvents;
  readonly #log: LogTables;
  readonly #tenant: StatementSync;
  readonly #head: StatementSync;
  readonly #leaf: StatementSync;
  readonly #heads: StatementSync;
  readonly #newHeads: StatementSync;
  readonly #lastEntry: StatementSync;
  readonly #notices: StatementSync;
  readonly #tenantKeys: StatementSync;
  readonly #sealed: SealedRows;
  readonly #knownRemovals = new KnownRemovals();
  /** The last row of entries that is in `known`. */
  #position: number | undefined;
  /** Where each log ends. */
  readonly #known = new Map<TenantId, number>();
  /** Where its segments do. */
  readonly #indexedTo: (tenant: TenantId) => number;

  constructor(
    journal: DatabaseSync,
    logOrigin: string,
    indexedTo: (tenant: TenantId) => number,
    sealed = new SealedRows(undefined),
  ) {
    this.#events = new LoggedEvents(journal, sealed);
    this.#log = new LogTables(journal, logOrigin, sealed);
    this.#indexedTo = indexedTo;
    this.#sealed = sealed;
    this.#tenantKeys = journal.prepare(
      `SELECT key_id, sealed FROM tenant_keys JOIN tenants USING (tenant)
       WHERE tenant_id = ? AND purpose = 'Tenant' AND state <> 'Destroyed' ORDER BY state <> 'Open', key_id DESC`,
    );
    this.#tenant = journal.prepare(
      'SELECT tenant, fingerprint_key, kept_index_key FROM tenants WHERE tenant_id = ?',
    );
    // Larger indexes exist only in altered rows.
    const head = `SELECT max(leaf_index) FROM entries WHERE entries.tenant = tenants.tenant AND leaf_index <= ${Number.MAX_SAFE_INTEGER}`;
    this.#head = journal.prepare(`SELECT (${head}) AS last FROM tenants WHERE tenant_id = ?`);
    this.#heads = journal.prepare(`SELECT tenant_id, (${head}) AS last FROM tenants`);
    this.#newHeads = journal.prepare(
      `SELECT tenant_id, max(leaf_index) AS last FROM entries JOIN tenants USING (tenant)
       WHERE entries.id > ? AND entries.id <= ? AND leaf_index <= ${Number.MAX_SAFE_INTEGER} GROUP BY tenant`,
    );
    this.#lastEntry = journal.prepare('SELECT max(id) AS last FROM entries');
    this.#notices = journal.prepare(
      `SELECT notice_index FROM deletions JOIN tenants USING (tenant) WHERE tenant_id = ?1 AND notice_index >= ?2
       UNION SELECT notice_index FROM redactions JOIN tenants USING (tenant) WHERE tenant_id = ?1 AND notice_index >= ?2
       ORDER BY notice_index`,
    );
    this.#leaf = journal.prepare(
      'SELECT leaf FROM entries WHERE leaf_index = ? AND tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?)',
    );
  }

  /** What is new is read each time, and the ends of all logs once. */
  behind(events: number): LogBehind[] {
    this.#readHeads();
    const found: LogBehind[] = [];
    for (const [tenant, head] of this.#known) {
      const indexed = head < events ? 0 : this.#indexedTo(tenant);
      if (head - indexed >= events) found.push({ tenant, head });
    }
    return found;
  }

  #readHeads(): void {
    const isFirst = this.#position === undefined;
    const last = this.#lastEntry.get();
    const position = last?.['last'] === null || last === undefined ? 0 : numberOf(last, 'last');
    const rows = isFirst ? this.#heads.all() : this.#newHeads.all(this.#position!, position);
    for (const row of rows)
      if (row['last'] !== null) this.#known.set(textIn(row, 'tenant_id'), numberOf(row, 'last') + 1);
    this.#position = position;
  }

  head(tenant: TenantId): number {
    const row = this.#head.get(tenant);
    return row === undefined || row['last'] === null ? 0 : numberOf(row, 'last') + 1;
  }

  removedSince(tenant: TenantId, noticeIndex: number): Removal[] {
    const notices = this.#notices.all(tenant, noticeIndex).map((row) => numberOf(row, 'notice_index'));
    return this.#removals(tenant, notices);
  }

  #removals(tenant: TenantId, notices: readonly number[]): Removal[] {
    return notices.flatMap((noticeIndex) => {
      const known = this.#knownRemovals.of(tenant, noticeIndex);
      if (known !== undefined) return known;
      const notice = this.#log.purge(tenant, noticeIndex) ?? this.#log.redactions(tenant, [noticeIndex])[0];
      // A row without a notice is forged, and ignored.
      if (notice === undefined) return [];
      const removal = removalOf(notice);
      this.#knownRemovals.keep(tenant, removal);
      return removal;
    });
  }

  between(tenant: TenantId, from: number, end: number, bytesMax: number): LoggedEvent[] {
    const numbered = this.#numbered(tenant);
    const events: LoggedEvent[] = [];
    if (numbered === undefined) return events;
    const isRemoved = this.#isRemovedIn(tenant, { firstIndex: from, endIndex: end });
    let bytes = 0;
    for (let next = from; next < end && bytes < bytesMax; ) {
      const read = this.#events.ofTenant(numbered, next, end, Math.min(PORTION, end - next));
      const rows = this.#withDeletedUnits(tenant, read);
      for (const row of rows) {
        for (; next < row.index; next++) events.push(missingAt(next));
        const event = loggedEvent(row, { leaf: leafIn(row.row), bytes: bytesOf(row) }, isRemoved);
        events.push(event);
        bytes += event.bytes;
        next++;
        if (bytes >= bytesMax) break;
      }
      if (rows.length === 0) break;
    }
    return events;
  }

  events(tenant: TenantId, indexes: readonly number[]): ReadTogether<QueriedEvent> {
    const numbered = this.#numbered(tenant);
    const events = new Map<number, QueriedEvent>();
    if (numbered === undefined) return { events, readCount: indexes.length };
    let [readCount, bytes] = [0, 0];
    for (; readCount < indexes.length && bytes < READ_BYTES_MAX; readCount++) {
      const index = indexes[readCount]!;
      const read = this.#events.ofTenant(numbered, index, index + 1, 1);
      const [row] = this.#withDeletedUnits(tenant, read);
      if (row === undefined) continue;
      bytes += bytesOf(row);
      const event = eventStillIn(row);
      if (event !== undefined) events.set(index, event);
    }
    return { events, readCount };
  }

  stored(tenant: TenantId, indexes: readonly number[]): ReadTogether<StoredEvent> {
    return this.#log.eventsAt(tenant, indexes, READ_BYTES_MAX);
  }

  leaves(tenant: TenantId, indexes: readonly number[]): (Uint8Array | undefined)[] {
    return indexes.map((index) => {
      const row = this.#leaf.get(index, tenant);
      return row === undefined ? undefined : leafIn(row);
    });
  }

  secrets(tenant: TenantId): [own: Uint8Array, ...sealed: Uint8Array[]] {
    const own = indexKeyIn(this.#tenant.get(tenant)!);
    return [own, ...this.#sealed.indexSecrets(tenant, this.#tenantKeys.all(tenant))];
  }

  #withDeletedUnits(tenant: TenantId, rows: readonly EventRow[]): readonly EventRow[] {
    const notices = redactionsOf(rows);
    if (notices.length === 0) return rows;
    const removals = this.#removals(tenant, notices);
    return rows.map((row) => withDeletedUnits(row, removals));
  }

  #isRemovedIn(tenant: TenantId, span: IndexSpan): (index: number) => boolean {
    const rows = this.#log.deletions(tenant, span, span.endIndex - span.firstIndex);
    const notices = new Set(rows.map(({ noticeIndex }) => noticeIndex));
    return removedBy(this.#removals(tenant, [...notices]));
  }

  #numbered(tenantId: TenantId): NumberedTenant | undefined {
    const row = this.#tenant.get(tenantId);
    return row === undefined ? undefined : { tenant: numberOf(row, 'tenant'), tenantId };
  }
}

/** Of its texts. */
function bytesOf({ row }: EventRow): number {
  return lengthOf(row['text1']) + lengthOf(row['text2']);
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? text.length : 0;
}
