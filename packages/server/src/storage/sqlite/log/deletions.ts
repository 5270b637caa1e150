// The removed spans and their notices, in journal.db.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { KIND_AT, KINDS } from '@tallystick/evidence';
import type { Deletion, IndexSpan, RedactedEvent } from '../../../streams/removal/removal.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { deletionIn } from '../../rows/deletion-row.ts';
import { Nonces } from '../../sealing/boxes.ts';
import { puncturedContent, type Resealing } from '../../sealing/reseal.ts';
import { SEALED_COLUMNS } from '../../sealing/sealed-rows.ts';
import type { Redaction } from '../../rows/redaction-notice.ts';
import { TAKE_BLOCK } from '../append/journal-keys.ts';

/** Spans do not overlap: of those that begin before its end, the last one ends last. */
const COVERING = `FROM deletions WHERE deletions.tenant = entries.tenant AND first_index <= entries.leaf_index
  ORDER BY first_index DESC LIMIT 1`;

/** The redaction notices that may be about an entry, with commas between. */
export const REDACTION_NOTICES = `(SELECT group_concat(redactions.notice_index) FROM redactions
  WHERE redactions.tenant = entries.tenant AND redactions.leaf_index = entries.leaf_index) AS redaction_notices`;

/** All notices that may be about an entry, for rows/removed-rows.ts. */
export const NOTICES_OF_ENTRY = `(SELECT CASE WHEN end_index > entries.leaf_index THEN notice_index END ${COVERING}) AS notice_index,
  ${REDACTION_NOTICES}`;

/** Excludes notices, which keep their content. */
export const IS_EVENT = `substr(entry, ${KIND_AT + 1}, 1) = x'${KINDS.event.toString(16).padStart(2, '0')}'`;

/** Starts with the last one that begins before the span. */
const OVERLAPPING = `FROM deletions WHERE tenant = ?1 AND first_index < ?3 AND end_index > ?2 AND first_index >= coalesce(
  (SELECT max(first_index) FROM deletions WHERE tenant = ?1 AND first_index <= ?2), ?2)`;

export class DeletionRows {
  readonly #overlapping: StatementSync;
  readonly #put: StatementSync;
  readonly #putRedaction: StatementSync;

  constructor(db: DatabaseSync) {
    this.#overlapping = db.prepare(`SELECT * ${OVERLAPPING} ORDER BY first_index LIMIT ?4`);
    this.#put = db.prepare(
      'INSERT INTO deletions (tenant, first_index, end_index, notice_index) VALUES (?, ?, ?, ?)',
    );
    this.#putRedaction = db.prepare(
      'INSERT INTO redactions (tenant, leaf_index, notice_index) VALUES (?, ?, ?)',
    );
  }

  /** The first `limit` deletions that overlap the span, in order. */
  overlapping(tenant: number, { firstIndex, endIndex }: IndexSpan, limit: number): Deletion[] {
    return this.#overlapping.all(tenant, firstIndex, endIndex, limit).map(deletionIn);
  }

  put(tenant: number, { firstIndex, endIndex, noticeIndex }: Deletion): void {
    this.#put.run(tenant, firstIndex, endIndex, noticeIndex);
  }

  putRedaction(tenant: number, { index, noticeIndex }: RedactedEvent): void {
    this.#putRedaction.run(tenant, index, noticeIndex);
  }
}

/** Deletes the contents of all events in the spans. */
export function deleteContents(db: DatabaseSync, tenantId: TenantId, spans: readonly IndexSpan[]): void {
  const statement = db.prepare(
    `DELETE FROM contents WHERE id IN (SELECT entries.id FROM entries JOIN tenants USING (tenant)
     WHERE tenant_id = ? AND leaf_index >= ? AND leaf_index < ? AND ${IS_EVENT})`,
  );
  for (const { firstIndex, endIndex } of spans) statement.run(tenantId, firstIndex, endIndex);
}

/** New nonces for the keys that have sealed these contents: to be committed before `punctureContents`. */
export function noncesFor(
  db: DatabaseSync,
  tenantId: TenantId,
  redactions: readonly Redaction[],
): Map<string, Nonces> {
  const read = db.prepare(
    `SELECT key_id FROM entries JOIN contents USING (id) JOIN tenants USING (tenant)
     WHERE tenant_id = ? AND leaf_index = ? AND key_id IS NOT NULL`,
  );
  const take = db.prepare(TAKE_BLOCK);
  const keyIds = new Set<string>();
  for (const { index } of redactions)
    for (const row of read.all(tenantId, index)) keyIds.add(textIn(row, 'key_id'));
  return new Map(
    [...keyIds].map((keyId) => [keyId, new Nonces(numberOf(take.get(tenantId, keyId), 'block'))]),
  );
}

/** Rewrites the contents of events without the units that are deleted, and forgets what told them from other events. */
export function punctureContents(
  db: DatabaseSync,
  tenantId: TenantId,
  redactions: readonly Redaction[],
  resealing: Resealing,
): void {
  const read = db.prepare(
    `SELECT contents.id, entry, text1, text2, seeds, closed, ${SEALED_COLUMNS.SQLite}
     FROM entries JOIN contents USING (id) JOIN tenants USING (tenant)
     WHERE tenant_id = ? AND leaf_index = ? AND ${IS_EVENT}`,
  );
  const write = db.prepare(
    'UPDATE contents SET text1 = ?, text2 = ?, seeds = ?, closed = ?, sent_fingerprint = NULL WHERE id = ?',
  );
  for (const redaction of redactions) {
    const row = read.get(tenantId, redaction.index);
    if (row === undefined) continue;
    const left = puncturedContent(row, redaction, resealing);
    if (left !== undefined) write.run(left.text1, left.text2, left.seeds, left.closed, numberOf(row, 'id'));
  }
}

/** Unless the stream is open: then events may follow. */
export function markPurged(
  db: DatabaseSync,
  tenantId: TenantId,
  streamFirstIndex: number,
  nowMs: number,
): void {
  db.prepare(
    `UPDATE streams SET purged_at_ms = ?3 FROM tenants WHERE tenants.tenant = streams.tenant AND tenant_id = ?1
       AND first_index = ?2 AND purged_at_ms IS NULL
       AND EXISTS (SELECT 1 FROM streams AS next WHERE next.tenant = streams.tenant AND next.first_index > ?2)`,
  ).run(tenantId, streamFirstIndex, nowMs);
}
