// The lookups and writes of a pool in journal.db.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EventId, TenantId } from '@tallystick/contract';
import { decodeEntry, eventIdBytes } from '@tallystick/evidence';
import type { StoredRecord } from '../../../records/records.ts';
import type { CausedJob } from '../../../work/jobs.ts';
import type { DraftOutcome, Once, UsedIdempotencyKey } from '../../../streams/log.ts';
import type { Deletion, IndexSpan, RedactedEvent } from '../../../streams/removal/removal.ts';
import { decisionNumber } from '../../pool/decision-number.ts';
import type { NewEntry, NewStream, PoolTables, StoredId } from '../../pool/pool-tables.ts';
import { classificationIn } from '../../rows/classification-column.ts';
import { type MissingKey, MissingKeys } from '../../sealing/pool-sealer.ts';
import { blobOf, blobOrNone, numberOf } from '../../rows/columns.ts';
import { holdsAsOf, holdsAsOfIn } from '../../rows/hold-notices.ts';
import { isRemovedFrom } from '../../rows/removed-rows.ts';
import { orRefused } from './chain-guard.ts';
import { DeletionRows, NOTICES_OF_ENTRY } from '../log/deletions.ts';
import type { Heads, NumberedHead } from './heads.ts';
import { RecordRows } from '../records/records.ts';
import type { UsedIdempotencyKeys } from './used-keys.ts';

export class SqlitePoolTables implements PoolTables<NumberedHead> {
  readonly #heads: Heads;
  readonly #usedKeys: UsedIdempotencyKeys;
  readonly #records: RecordRows;
  readonly #deletions: DeletionRows;
  readonly #find: StatementSync;
  readonly #holdsAsOf: StatementSync;
  readonly #insertEntry: StatementSync;
  readonly #insertContent: StatementSync;
  readonly #insertDecision: StatementSync;
  readonly #insertStream: StatementSync;
  readonly #insertJob: StatementSync;
  #missing: MissingKey[] = [];
  /** Decisions that this transaction has stored, by tenant: most events of a pool were decided alike. */
  readonly #decided = new Map<number, Set<number>>();

  constructor(db: DatabaseSync, heads: Heads, usedKeys: UsedIdempotencyKeys) {
    this.#heads = heads;
    this.#records = new RecordRows(db);
    this.#deletions = new DeletionRows(db);
    this.#usedKeys = usedKeys;
    this.#find = db.prepare(
      `SELECT leaf_index, classification, entry, sent_fingerprint, ${NOTICES_OF_ENTRY} FROM entries LEFT JOIN contents USING (id)
       WHERE event_id = ? AND tenant = ?`,
    );
    this.#holdsAsOf = db.prepare(holdsAsOf('tenant = ?', 'SQLite'));
    this.#insertEntry = db.prepare(
      `INSERT INTO entries (id, tenant, leaf_index, classification, entry, leaf, root1, root2)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertContent = db.prepare(
      `INSERT INTO contents (id, text1, text2, seeds, key_id, sent_fingerprint, expires_at_ms, decision)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertDecision = db.prepare(
      'INSERT INTO decisions (tenant, decision, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#insertJob = db.prepare('INSERT INTO outbox (tenant, job_id, job) VALUES (?, ?, ?)');
    this.#insertStream = db.prepare(
      'INSERT INTO streams (tenant, first_index, stream_id, created_at_ms) VALUES (?, ?, ?, ?)',
    );
  }

  /** Before anything of a transaction is put: what the one before has put may have been rolled back. */
  begin(): void {
    this.#decided.clear();
    this.#missing = [];
  }

  /** Throws MissingKeys if one was missing in this transaction. */
  demandKeys(): void {
    if (this.#missing.length > 0) throw new MissingKeys(this.#missing);
  }

  head(tenant: TenantId): NumberedHead | undefined {
    return this.#heads.of(tenant);
  }

  usedKey({ tenant }: NumberedHead, once: Once, steadyNowMs: number): UsedIdempotencyKey | undefined {
    return this.#usedKeys.find(tenant, once, steadyNowMs);
  }

  storedId({ tenant }: NumberedHead, eventId: EventId): StoredId | undefined {
    const row = this.#find.get(eventIdBytes(eventId), tenant);
    if (row === undefined) return undefined;
    const { receivedAtMs } = decodeEntry(blobOf(row, 'entry'));
    return {
      index: numberOf(row, 'leaf_index'),
      receivedAtMs,
      // Removed content is not compared any more, even while it still exists.
      fingerprint: isRemovedFrom(row) ? undefined : blobOrNone(row, 'sent_fingerprint'),
      classification: classificationIn(row),
    };
  }

  recordVersion({ tenant }: NumberedHead, record: StoredRecord): number {
    return this.#records.version(tenant, record);
  }

  isNameTaken({ tenant }: NumberedHead, record: StoredRecord): boolean {
    return this.#records.isNameTaken(tenant, record);
  }

  holdsAsOf({ tenant }: NumberedHead): string {
    return holdsAsOfIn(this.#holdsAsOf.get(tenant));
  }

  putRecord({ tenant }: NumberedHead, record: StoredRecord): void {
    this.#records.put(tenant, record);
  }

  putJob({ tenant }: NumberedHead, job: CausedJob): void {
    this.#insertJob.run(tenant, job.jobId, JSON.stringify(job));
  }

  isDeletedIn({ tenant }: NumberedHead, span: IndexSpan): boolean {
    return this.#deletions.overlapping(tenant, span, 1).length > 0;
  }

  putDeletion({ tenant, tenantId }: NumberedHead, deletion: Deletion): void {
    orRefused(tenantId, () => this.#deletions.put(tenant, deletion));
  }

  putRedaction({ tenant, tenantId }: NumberedHead, redaction: RedactedEvent): void {
    orRefused(tenantId, () => this.#deletions.putRedaction(tenant, redaction));
  }

  /** A statement has copied the bytes when it returns. */
  putEntry({ tenant, tenantId }: NumberedHead, added: NewEntry): void {
    const { index, expiresAtMs = null, entry, leaf, draft, roots, content } = added;
    const { classification, sentFingerprint = null, decidedBy } = draft;
    const { text1, text2, seeds, keyId = null } = content;
    if (content.missing !== undefined) this.#missing.push(content.missing);
    const id = this.#heads.takeId();
    orRefused(tenantId, () => {
      this.#insertEntry.run(id, tenant, index, classification, entry, leaf, roots.root1, roots.root2);
      const decision = decidedBy === undefined ? null : this.#putDecision(tenant, decidedBy);
      this.#insertContent.run(id, text1, text2, seeds, keyId, sentFingerprint, expiresAtMs, decision);
    });
  }

  #putDecision(tenant: number, body: string): number {
    const decision = decisionNumber(body);
    let stored = this.#decided.get(tenant);
    if (stored === undefined) this.#decided.set(tenant, (stored = new Set()));
    if (!stored.has(decision)) {
      this.#insertDecision.run(tenant, decision, body);
      stored.add(decision);
    }
    return decision;
  }

  putStream({ tenant, tenantId }: NumberedHead, { streamId, firstIndex, createdAtMs }: NewStream): void {
    orRefused(tenantId, () => this.#insertStream.run(tenant, firstIndex, streamId, createdAtMs));
  }

  putUsedKey({ tenant }: NumberedHead, once: Once, outcomes: readonly DraftOutcome[]): void {
    this.#usedKeys.put(tenant, once, outcomes);
  }
}
