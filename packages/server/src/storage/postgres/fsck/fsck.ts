// Verifies a database with the common verifier: over one connection, in a transaction that sees one state.

import type { TenantId } from '@tallystick/contract';
import { runAsync } from '../../resumable.ts';
import { notEvidenceAmong } from '../../fsck/evidence-columns.ts';
import { type FsckProgress, type FsckReport, type FsckOptions, fsck } from '../../fsck/fsck.ts';
import { placeOfVersion, recordVersionIn } from '../../fsck/record-version.ts';
import type { StoredRows, TenantRow } from '../../fsck/stored-rows.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { deletionIn, redactionRowIn } from '../../rows/deletion-row.ts';
import { allVersions, RECORD_COLUMNS } from '../../rows/record-row.ts';
import { keyIn } from '../../rows/key-row.ts';
import { SealedRows } from '../../sealing/sealed-rows.ts';
import { statement } from '../connection/database.ts';
import type { Statements } from '../connection/by-tenant.ts';
import { EVIDENCE_COLUMNS, NOT_EVIDENCE } from './columns.ts';
import { faultOf } from './damage.ts';
import { FIRST_INTEGER, LAST_INTEGER, LotsAhead } from './rows.ts';
import { columnsOf, requireSchema } from './schema.ts';
import { requireKnownTenants, requireNoStrayContent } from './strays.ts';
import { epochsNamed, epochsOf, requireHead, streamsOf, treeRows } from './tree-rows.ts';

const TENANTS_AT_ONCE = 1000;

const LOG_ORIGIN = statement("SELECT value FROM meta WHERE name = 'log_origin'");
const ENTRIES_TOTAL = statement('SELECT coalesce(sum(next_index), 0)::float8 AS total FROM heads');
const ONE_TENANT = statement('SELECT tenant_id FROM tenants WHERE tenant_id = $1');
const FIRST_TENANTS = statement(`SELECT tenant_id FROM tenants ORDER BY tenant_id LIMIT ${TENANTS_AT_ONCE}`);
const TENANTS = statement(
  `SELECT tenant_id FROM tenants WHERE tenant_id > $1 ORDER BY tenant_id LIMIT ${TENANTS_AT_ONCE}`,
);

const RECORDS = statement(
  `SELECT tenant_id, is_past, ${RECORD_COLUMNS} FROM ${allVersions('tenant_id')}
   WHERE tenant_id = $1
     AND ($2::text IS NULL OR (kind, id, version, is_past) > ($2::text, $3::text, $4::bigint, $5::integer))
   ORDER BY kind, id, version, is_past LIMIT $6`,
);

const ANY_KEY = statement('SELECT 1 FROM tenant_keys LIMIT 1');
const KEYS = statement(
  `SELECT * FROM tenant_keys WHERE tenant_id = $1
     AND ($2::text IS NULL OR (purpose <> 'Tenant', key_id) > ($2::text <> 'Tenant', $3::text))
   ORDER BY purpose <> 'Tenant', key_id LIMIT $4`,
);

const DELETIONS = statement(
  `SELECT first_index, end_index, notice_index FROM deletions
   WHERE tenant_id = $1 AND first_index > $2 ORDER BY first_index LIMIT $3`,
);

const REDACTIONS = statement(
  `SELECT leaf_index, notice_index FROM redactions
   WHERE tenant_id = $1 AND (leaf_index, notice_index) > ($2::bigint, $3::bigint)
   ORDER BY leaf_index, notice_index LIMIT $4`,
);

const DECISIONS = statement(
  'SELECT decision, body FROM decisions WHERE tenant_id = $1 AND decision > $2 ORDER BY decision LIMIT $3',
);

/** All answers of `statements` must come from one state. */
export async function checkDatabase(
  statements: Statements,
  options: FsckOptions,
  onProgress?: (progress: FsckProgress) => void,
): Promise<FsckReport> {
  return runAsync(fsck(rowsOf(statements, SealedRows.toVerify(options.ring)), options), onProgress);
}

/** Whether there is such a tenant; the first query determines the state. */
export async function hasTenant(statements: Statements, tenant: TenantId): Promise<boolean> {
  return (await statements.query(ONE_TENANT, [tenant])).length > 0;
}

/** Whether anything was ever sealed. */
export async function hasKeys(statements: Statements): Promise<boolean> {
  return (await statements.query(ANY_KEY)).length > 0;
}

function rowsOf(statements: Statements, sealed: SealedRows): StoredRows<TenantId> {
  const lots = new LotsAhead(statements, sealed);
  return {
    ...treeRows(statements),
    epochs: (tenant) => epochsOf(statements, tenant),
    epochsNamed: (tenant) => epochsNamed(statements, tenant),
    async logOrigin() {
      const [row] = await statements.query(LOG_ORIGIN);
      return row && textIn(row, 'value');
    },
    entriesTotal: async () => numberOf((await statements.query(ENTRIES_TOTAL))[0], 'total'),
    tenants: (after, only) => tenantsAfter(statements, after?.tenant, only),
    lot: (tenant, first, last) => lots.lot(tenant, first ?? FIRST_INTEGER, last ?? LAST_INTEGER),
    streams: (tenant, after, limit) => streamsOf(statements, tenant, after, limit),
    records: async (tenant, after, limit) =>
      (await statements.query(RECORDS, [tenant, ...placeOfVersion(after), limit])).map(recordVersionIn),
    keys: async (tenant, after, limit) =>
      (await statements.query(KEYS, [tenant, after?.purpose ?? null, after?.keyId ?? null, limit])).map(
        keyIn,
      ),
    deletions: async (tenant, after, limit) =>
      (await statements.query(DELETIONS, [tenant, after ?? FIRST_INTEGER, limit])).map(deletionIn),
    async redactions(tenant, after, limit) {
      const from = [after?.index ?? FIRST_INTEGER, after?.noticeIndex ?? FIRST_INTEGER];
      return (await statements.query(REDACTIONS, [tenant, ...from, limit])).map(redactionRowIn);
    },
    decisions: async (tenant, after, limit) =>
      (await statements.query(DECISIONS, [tenant, after ?? FIRST_INTEGER, limit])).map((row) => ({
        decision: numberOf(row, 'decision'),
        body: textIn(row, 'body'),
      })),
    requireEnd: (tenant, end) => requireHead(statements, tenant, end),
    ofTheWhole: [{ check: 'schema', look: () => requireSchema(statements) }],
    requireKnownTenants: () => requireKnownTenants(statements),
    requireNoStrayContent: (met) => requireNoStrayContent(statements, met),
    notEvidence: async () => notEvidenceAmong(await columnsOf(statements), EVIDENCE_COLUMNS, NOT_EVIDENCE),
    faultOf,
  };
}

async function tenantsAfter(
  statements: Statements,
  after: TenantId | undefined,
  only: TenantId | undefined,
): Promise<TenantRow<TenantId>[]> {
  if (only !== undefined && after !== undefined) return [];
  const rows =
    only !== undefined
      ? await statements.query(ONE_TENANT, [only])
      : after === undefined
        ? await statements.query(FIRST_TENANTS)
        : await statements.query(TENANTS, [after]);
  return rows.map((row) => {
    const tenant = textIn(row, 'tenant_id');
    return { tenant, tenantId: tenant };
  });
}
