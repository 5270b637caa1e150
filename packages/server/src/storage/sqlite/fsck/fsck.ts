// Verifies a journal with the common verifier.

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { notEvidenceAmong } from '../../fsck/evidence-columns.ts';
import { type FsckProgress, type FsckReport, type FsckOptions, fsck } from '../../fsck/fsck.ts';
import { fault } from '../../fsck/store-fault.ts';
import type { DecisionRow, StoredRows, TenantRow } from '../../fsck/stored-rows.ts';
import { placeOfVersion, recordVersionIn } from '../../fsck/record-version.ts';
import { streamRowIn } from '../../fsck/stream-row.ts';
import { deletionIn, redactionRowIn } from '../../rows/deletion-row.ts';
import { allVersions, RECORD_COLUMNS } from '../../rows/record-row.ts';
import { keyIn } from '../../rows/key-row.ts';
import { SealedRows } from '../../sealing/sealed-rows.ts';
import { readInstallation } from '../connection/meta.ts';
import { EVIDENCE_COLUMNS, NOT_EVIDENCE } from './columns.ts';
import { faultOf } from './damage.ts';
import { FIRST_INTEGER, integerIn, LAST_INTEGER, LogRows, textIn } from './rows.ts';
import { columnsOf, requireSchema } from './schema.ts';
import { requireKnownTenants, requireNoStrayContent } from './strays.ts';
import { STREAMS_OF_TENANT, TreeRows } from './tree-rows.ts';

const TENANTS_AT_ONCE = 1000;

/** The caller has begun a transaction, so that all reads see one state. */
export function checkJournal(db: DatabaseSync, options: FsckOptions): Generator<FsckProgress, FsckReport> {
  // SQLite is synchronous, so it never yields a promise.
  return fsck(rowsOf(db, SealedRows.toVerify(options.ring)), options) as Generator<FsckProgress, FsckReport>;
}

function rowsOf(db: DatabaseSync, sealed: SealedRows): StoredRows<number> {
  const tree = new TreeRows(db);
  const entries = new LogRows(db, sealed);
  const total = db.prepare('SELECT coalesce(max(id), 0) AS id FROM entries');
  const streams = db.prepare(`${STREAMS_OF_TENANT} AND first_index > ? ORDER BY first_index LIMIT ?`);
  const tenants = db.prepare(
    `SELECT tenant, tenant_id FROM tenants WHERE tenant > ?1 AND (?2 IS NULL OR tenant_id = ?2)
     ORDER BY tenant LIMIT ${TENANTS_AT_ONCE}`,
  );
  const records = db.prepare(
    `SELECT '' AS tenant_id, is_past, ${RECORD_COLUMNS} FROM ${allVersions('tenant')}
     WHERE tenant = ?1 AND (?2 IS NULL OR (kind, id, version, is_past) > (?2, ?3, ?4, ?5))
     ORDER BY kind, id, version, is_past LIMIT ?6`,
  );
  const keys = db.prepare(
    `SELECT * FROM tenant_keys WHERE tenant = ?1
       AND (?2 IS NULL OR (purpose <> 'Tenant', key_id) > (?2 <> 'Tenant', ?3))
     ORDER BY purpose <> 'Tenant', key_id LIMIT ?4`,
  );
  const deletions = db.prepare(
    'SELECT * FROM deletions WHERE tenant = ? AND first_index > ? ORDER BY first_index LIMIT ?',
  );
  const redactions = db.prepare(
    `SELECT * FROM redactions WHERE tenant = ? AND (leaf_index, notice_index) > (?, ?)
     ORDER BY leaf_index, notice_index LIMIT ?`,
  );
  const decisions = db.prepare(
    'SELECT decision, body FROM decisions WHERE tenant = ? AND decision > ? ORDER BY decision LIMIT ?',
  );
  return {
    newestSize: (log) => tree.newestSize(log),
    checkpoints: (log, after, limit) => tree.checkpoints(log, after, limit),
    tileHashes: (log, level, from, end) => tree.tileHashes(log, level, from, end),
    tileHashCount: (log) => tree.tileHashCount(log),
    hasEntryAt: (tenant, index) => tree.hasEntryAt(tenant, index),
    epochs: (tenant) => tree.epochs(tenant),
    epochsNamed: (tenant) => [...tree.epochsNamed(tenant)],
    logOrigin: () => readInstallation(db)?.logOrigin,
    entriesTotal: () => integerIn(total.get()?.['id']),
    tenants: (after, only) => tenants.all(after?.tenant ?? FIRST_INTEGER, only ?? null).map(tenantIn),
    lot: (tenant, first, last) => entries.lot(tenant, first ?? FIRST_INTEGER, last ?? LAST_INTEGER),
    streams: (tenant, after, limit) =>
      streams.all(tenant, after ?? FIRST_INTEGER, limit).map((row) => streamRowIn(row)),
    records: (tenant, after, limit) =>
      records.all(tenant, ...placeOfVersion(after), limit).map(recordVersionIn),
    keys: (tenant, after, limit) =>
      keys.all(tenant, after?.purpose ?? null, after?.keyId ?? null, limit).map(keyIn),
    deletions: (tenant, after, limit) => deletions.all(tenant, after ?? FIRST_INTEGER, limit).map(deletionIn),
    redactions: (tenant, after, limit) =>
      redactions
        .all(tenant, after?.index ?? FIRST_INTEGER, after?.noticeIndex ?? FIRST_INTEGER, limit)
        .map(redactionRowIn),
    decisions: (tenant, after, limit) => decisions.all(tenant, after ?? FIRST_INTEGER, limit).map(decisionIn),
    // Only the entries themselves determine the end of a log.
    requireEnd: () => {},
    ofTheWhole: [
      { check: 'file', look: () => requireIntegrity(db) },
      { check: 'schema', look: () => requireSchema(db) },
    ],
    requireKnownTenants: () => requireKnownTenants(db),
    requireNoStrayContent: (met) => requireNoStrayContent(db, met),
    notEvidence: () => notEvidenceIn(db),
    faultOf,
  };
}

function tenantIn(row: Readonly<Record<string, SQLOutputValue>>): TenantRow<number> {
  return { tenant: integerIn(row['tenant']), tenantId: textIn(row['tenant_id']) };
}

function decisionIn(row: Readonly<Record<string, SQLOutputValue>>): DecisionRow {
  return { decision: integerIn(row['decision']), body: textIn(row['body']) };
}

/** Checks pages, and that indexes match their tables: an event that an index misses cannot be found. */
function requireIntegrity(db: DatabaseSync): void {
  const said = textIn(db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']);
  if (said !== 'ok') throw fault('MALFORMED', `the database is damaged: ${said.split('\n').join('; ')}`);
}

/** The parts of the schema that are not evidence, with the reason. */
export function notEvidenceIn(db: DatabaseSync): Record<string, string> {
  return notEvidenceAmong(columnsOf(db), EVIDENCE_COLUMNS, NOT_EVIDENCE);
}
