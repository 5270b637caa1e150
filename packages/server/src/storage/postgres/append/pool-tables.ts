// The lookups and writes of a pool. Everything is read in a few statements once the logs are locked; then the pool is
// decided in memory, where lookups see earlier writes. One statement writes the rows.

import type { EventId, TenantId } from '@tallystick/contract';
import { decodeEntry, EvidenceError, eventIdBytes } from '@tallystick/evidence';
import type { StoredRecord } from '../../../records/records.ts';
import type { CausedJob, NewJob } from '../../../work/jobs.ts';
import type { DraftOutcome, Once, UsedIdempotencyKey } from '../../../streams/log.ts';
import type { Deletion, IndexSpan, RedactedEvent } from '../../../streams/removal/removal.ts';
import type { PooledDraft, PooledRequest } from '../../pool/append-message.ts';
import type { Head } from '../../pool/head.ts';
import { orTenantFault } from '../../pool/tenant-fault.ts';
import type { NewEntry, NewStream, PoolTables, StoredId } from '../../pool/pool-tables.ts';
import { classificationAt, classificationIn } from '../../rows/classification-column.ts';
import { blobOf, blobOrNone, numberOf, textIn } from '../../rows/columns.ts';
import { holdsAsOf, holdsAsOfIn, NO_HOLDS, tellsOfHolds } from '../../rows/hold-notices.ts';
import { purgedSpans } from '../../rows/purge-notice.ts';
import { isRemovedFrom } from '../../rows/removed-rows.ts';
import { usedKeyOf } from '../../rows/used-key-row.ts';
import { ofTenants, rowsFor, type TenantsStatement } from '../connection/by-tenant.ts';
import { type Row, statement, type Transaction } from '../connection/database.ts';
import { isPurge } from '../../pool/pool-writer.ts';
import { DeletionRows } from '../log/deletions.ts';
import type { LockedHeads } from './heads.ts';
import { EVENT_ID, NOTICES_OF_ENTRY, WITH_CONTENTS } from '../log/log-columns.ts';
import type { KnownDecisions } from './decisions.ts';
import { PoolRows } from './pool-rows.ts';
import { RecordRows } from '../records/records.ts';
import { valuesOf } from '../../work/job-values.ts';
import { JOB_STATEMENTS } from '../work/work.ts';

// LIMIT forces separate lookups: a join might scan everything.
const USED_KEYS = ofTenants(
  3,
  (
    only,
  ) => `SELECT used_keys.* FROM unnest($1::text[], $2::text[], $3::text[]) AS asked (tenant_id, operation, key)
   JOIN LATERAL (SELECT * FROM used_keys WHERE used_keys.tenant_id = asked.tenant_id
     AND used_keys.operation = asked.operation AND used_keys.key = asked.key${only('used_keys.tenant_id')} LIMIT 1)
     AS used_keys ON true`,
);
const eventsBy = (
  join: string,
) => `SELECT entries.tenant_id, entries.leaf_index, classification, entry, sent_fingerprint, ${NOTICES_OF_ENTRY}
   FROM unnest($1::text[], $2::bytea[]) AS asked (tenant_id, event_id)
   ${join} ${WITH_CONTENTS}`;
const BY_ID = `entries.tenant_id = asked.tenant_id AND ${EVENT_ID} = asked.event_id`;
const EVENTS: TenantsStatement = {
  ofMany: statement(
    eventsBy(`JOIN LATERAL (SELECT * FROM entries WHERE ${BY_ID} LIMIT 1) AS entries ON true`),
  ),
  // A distributed database refuses a LIMIT there.
  ofOne: statement(eventsBy(`JOIN entries ON ${BY_ID} AND entries.tenant_id = $3`)),
};

const HOLDS_AS_OF = statement(holdsAsOf('entries.tenant_id = $1', 'PostgreSQL'));

export type Wanted = Pick<PooledRequest, 'tenant' | 'once' | 'drafts' | 'records'> &
  Partial<Pick<PooledRequest, 'holdsAsOf'>>;

export class PostgresPoolTables implements PoolTables {
  readonly #locked: LockedHeads;
  readonly #usedKeys = new Map<string, UsedIdempotencyKey>();
  readonly #ids = new Map<string, StoredId>();
  readonly #records = new RecordRows();
  /** The newest notices that tell of holds and policies. */
  readonly #holdsAsOf = new Map<TenantId, string>();
  readonly #jobs: NewJob[] = [];
  readonly #deletions = new DeletionRows();
  readonly rows: PoolRows;

  constructor(locked: LockedHeads, known: KnownDecisions) {
    this.#locked = locked;
    this.rows = new PoolRows(known);
  }

  /** Reads everything that these requests will look up. */
  async load(transaction: Transaction, requests: readonly Wanted[], steadyNowMs: number): Promise<void> {
    const locked = requests.filter(({ tenant }) => this.#locked.heads.has(tenant));
    const keys = locked.flatMap(({ tenant, once }) => (once === undefined ? [] : [{ tenant, ...once }]));
    const ids = locked.flatMap(({ tenant, drafts }) =>
      drafts
        .filter(({ sentFingerprint }) => sentFingerprint !== undefined)
        .map(({ eventId }) => ({ tenant, eventId })),
    );
    const [keyRows, idRows] = await Promise.all([
      rowsFor(transaction, USED_KEYS, keys, (wanted) => [
        wanted.map(({ tenant }) => tenant),
        wanted.map(({ operation }) => operation),
        wanted.map(({ key }) => key),
      ]),
      rowsFor(transaction, EVENTS, ids, (wanted) => [
        wanted.map(({ tenant }) => tenant),
        wanted.map(({ eventId }) => eventIdBytes(eventId)),
      ]),
      this.#records.load(
        transaction,
        locked.flatMap(({ records }) => records),
      ),
      this.#loadHoldsAsOf(transaction, locked),
      ...locked.flatMap(({ tenant, drafts }) =>
        drafts.filter(isPurge).map((notice) => this.#loadDeletions(transaction, tenant, notice)),
      ),
    ]);
    for (const row of keyRows) this.#takeKey(row, steadyNowMs);
    for (const row of idRows) this.#takeId(row);
  }

  async #loadHoldsAsOf(transaction: Transaction, requests: readonly Wanted[]): Promise<void> {
    const asking = requests.filter((request) => request.holdsAsOf !== undefined);
    for (const tenant of new Set(asking.map((request) => request.tenant)))
      this.#holdsAsOf.set(tenant, holdsAsOfIn((await transaction.query(HOLDS_AS_OF, [tenant]))[0]));
  }

  /** The deletions that the notice could overlap. */
  async #loadDeletions(transaction: Transaction, tenant: TenantId, { texts }: PooledDraft): Promise<void> {
    const { logFirstIndex } = this.head(tenant)!;
    // Other requests of the pool may extend the log before it is decided.
    const endIndex = Number.MAX_SAFE_INTEGER;
    const spans = spansOr(() => purgedSpans(texts[1], { logFirstIndex, endIndex }));
    const [first, last] = [spans[0], spans.at(-1)];
    if (first === undefined || last === undefined) return;
    await this.#deletions.load(transaction, tenant, { ...first, endIndex: last.endIndex });
  }

  /** Writes all added rows. */
  async write(transaction: Transaction): Promise<void> {
    if (!this.rows.isEmpty) await this.rows.write(transaction, this.#locked.heads.values());
    await this.#deletions.write(transaction);
    for (const job of this.#jobs) await transaction.query(JOB_STATEMENTS.add, valuesOf(job));
    await this.#records.write(transaction);
  }

  head(tenant: TenantId): Head | undefined {
    return this.#locked.heads.get(tenant)?.head;
  }

  usedKey({ tenantId }: Head, { operation, key }: Once, steadyNowMs: number): UsedIdempotencyKey | undefined {
    const used = this.#usedKeys.get(nameOf(tenantId, operation, key));
    return used === undefined || used.expiresAtMs <= steadyNowMs ? undefined : used;
  }

  storedId({ tenantId }: Head, eventId: EventId): StoredId | undefined {
    return this.#ids.get(nameOf(tenantId, eventId));
  }

  putEntry(head: Head, entry: NewEntry): void {
    const { draft, index, receivedAtMs } = entry;
    const { eventId, sentFingerprint: fingerprint } = draft;
    // Ids that were made here are never looked up.
    if (fingerprint !== undefined) {
      const classification = classificationAt(draft.classification);
      this.#ids.set(nameOf(head.tenantId, eventId), { index, receivedAtMs, fingerprint, classification });
    }
    if (tellsOfHolds(draft.kind)) this.#holdsAsOf.set(head.tenantId, String(index));
    this.rows.putEntry(head, entry);
  }

  putStream(head: Head, stream: NewStream): void {
    this.rows.putStream(head, stream);
  }

  putUsedKey(head: Head, once: Once, outcomes: readonly DraftOutcome[]): void {
    const { fingerprint, classification, expiresAtMs, note } = once;
    const name = nameOf(head.tenantId, once.operation, once.key);
    this.#usedKeys.set(name, { fingerprint, classification, expiresAtMs, note, outcomes });
    this.rows.putUsedKey(head, once, outcomes);
  }

  recordVersion(_: Head, record: StoredRecord): number {
    return this.#records.version(record);
  }

  isNameTaken(_: Head, record: StoredRecord): boolean {
    return this.#records.isNameTaken(record);
  }

  holdsAsOf({ tenantId }: Head): string {
    return this.#holdsAsOf.get(tenantId) ?? NO_HOLDS;
  }

  putJob({ tenantId: tenant }: Head, job: CausedJob): void {
    this.#jobs.push({ ...job, tenant });
  }

  putRecord(_: Head, record: StoredRecord): void {
    this.#records.put(record);
  }

  isDeletedIn({ tenantId }: Head, span: IndexSpan): boolean {
    return this.#deletions.overlaps(tenantId, span);
  }

  putDeletion({ tenantId }: Head, deletion: Deletion): void {
    this.#deletions.put(tenantId, deletion);
  }

  putRedaction({ tenantId }: Head, redaction: RedactedEvent): void {
    this.#deletions.putRedaction(tenantId, redaction);
  }

  #takeKey(row: Row, steadyNowMs: number): void {
    const tenant = textIn(row, 'tenant_id');
    const used = orTenantFault(tenant, () => usedKeyOf(row, steadyNowMs));
    const name = nameOf(tenant, textIn(row, 'operation'), textIn(row, 'key'));
    if (used !== undefined) this.#usedKeys.set(name, used);
  }

  #takeId(row: Row): void {
    const tenant = textIn(row, 'tenant_id');
    const { eventId, receivedAtMs } = orTenantFault(tenant, () => decodeEntry(blobOf(row, 'entry')));
    this.#ids.set(nameOf(tenant, eventId), {
      index: numberOf(row, 'leaf_index'),
      receivedAtMs,
      // Removed content is not compared any more, even while it still exists.
      fingerprint: isRemovedFrom(row) ? undefined : blobOrNone(row, 'sent_fingerprint'),
      classification: orTenantFault(tenant, () => classificationIn(row)),
    });
  }
}

/** Empty for a text that is not a purge notice: the pool writer refuses it. */
function spansOr(read: () => IndexSpan[]): IndexSpan[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof EvidenceError) return [];
    throw error;
  }
}

/** No part contains a line break. */
function nameOf(...parts: readonly string[]): string {
  return parts.join('\n');
}
