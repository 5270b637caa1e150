// Verifies a journal: everything in it that is evidence, tenant by tenant, against itself, against the keys that sign and
// against what is remembered outside. Sees one state, also while the service goes on; changes nothing; holds one lot of
// entries at a time. After a fault it goes on with the next tenant.

import type { DatabaseSync } from 'node:sqlite';
import { ALL_CHECKS, type Checks } from '../../fsck/checks.ts';
import { EVIDENCE_COLUMNS, NOT_EVIDENCE } from './columns.ts';
import { WalkDesk } from '../../fsck/entries.ts';
import { fault, type StoreFault, storeFault } from '../../fsck/store-fault.ts';
import { faultIn, faultOf } from './damage.ts';
import { anchorFault, createMemory, headsRemembered, type Remembered } from './memory.ts';
import { type FoundLogs, missingLogs } from './missing-logs.ts';
import type { TrustedKey } from '../../fsck/notes.ts';
import { FIRST_INTEGER, integerIn, textIn } from './rows.ts';
import { columnsOf, requireSchema } from './schema.ts';
import { requireKnownTenants, requireNoStrayContent } from './strays.ts';
import { type CheckedLog, type StoredTenant, TenantCheck, type TenantResult } from './tenant.ts';
import { readInstallation } from '../meta.ts';

export interface JournalWish {
  readonly keys: readonly TrustedKey[];
  readonly remembered: Remembered;
  /** This one alone; what is of no tenant is then left out. */
  readonly tenant?: string | undefined;
  /** All of them, but for tests. */
  readonly checks?: Checks;
  readonly desk?: WalkDesk;
}

export interface TenantReport extends FoundLogs {
  readonly logs: readonly CheckedLog[];
  readonly streams: number;
}

export interface JournalReport {
  /** Those of no tenant first. */
  readonly faults: readonly StoreFault[];
  readonly tenants: readonly TenantReport[];
  readonly notEvidence: Readonly<Record<string, string>>;
}

export interface JournalProgress {
  readonly entries: number;
  /** About how many there are. */
  readonly entriesTotal: number;
}

const TENANTS_AT_ONCE = 1000;

/** Whoever calls it has begun a transaction, so that all of it sees one state. */
export function* checkJournal(
  db: DatabaseSync,
  wish: JournalWish,
): Generator<JournalProgress, JournalReport> {
  const { checks = ALL_CHECKS, tenant: only } = wish;
  const faults: StoreFault[] = [];
  const tenants: TenantReport[] = [];
  const look = (check: 'file' | 'schema' | 'strays', work: () => void): void => {
    const found = checks.has(check) ? faultIn(work) : undefined;
    if (found !== undefined) faults.push(storeFault(undefined, found));
  };
  look('file', () => requireIntegrity(db));
  look('schema', () => requireSchema(db));
  if (only === undefined) look('strays', () => requireKnownTenants(db));
  try {
    yield* checkTenants(db, wish, tenants);
  } catch (error) {
    faults.push(storeFault(undefined, faultOf(error)));
  }
  for (const { fault: own } of tenants) if (own !== undefined) faults.push(own);
  if (only === undefined) {
    const isAllMet = faults.length === 0;
    const met = tenants.flatMap(({ logs }) => logs).reduce((sum, { values }) => sum + values, 0);
    look('strays', () => requireNoStrayContent(db, isAllMet ? met : undefined));
  }
  if (checks.has('anchor')) faults.push(...anchorFaults(db, wish, tenants));
  return { faults, tenants, notEvidence: notEvidenceIn(db) };
}

function* checkTenants(
  db: DatabaseSync,
  { keys, remembered, tenant: only, checks = ALL_CHECKS, desk = new WalkDesk(checks) }: JournalWish,
  reports: TenantReport[],
): Generator<JournalProgress, void> {
  const logOrigin = readInstallation(db)?.logOrigin;
  if (logOrigin === undefined)
    throw fault('ORIGIN_MISMATCH', 'the database does not say the name of its logs');
  const check = new TenantCheck({ db, desk, logOrigin, keys, memory: createMemory(remembered) });
  const entriesTotal = integerIn(db.prepare('SELECT coalesce(max(id), 0) AS id FROM entries').get()?.['id']);
  let entries = 0;
  for (const stored of tenantsOf(db, only)) {
    const logs: CheckedLog[] = [];
    const tenant = stored.tenantId;
    let result: TenantResult = { streams: 0, named: [] };
    let found: StoreFault | undefined;
    try {
      const steps = check.run(stored, logs);
      for (let step = steps.next(); ; step = steps.next()) {
        if (step.done === true) {
          result = step.value;
          break;
        }
        entries += step.value;
        yield { entries, entriesTotal };
      }
    } catch (error) {
      found = storeFault(tenant, faultOf(error));
    }
    reports.push({ tenant, logs, ...result, fault: found });
  }
}

function* tenantsOf(db: DatabaseSync, only: string | undefined): Generator<StoredTenant> {
  const rows = db.prepare(
    `SELECT tenant, tenant_id FROM tenants WHERE tenant > ?1 AND (?2 IS NULL OR tenant_id = ?2)
     ORDER BY tenant LIMIT ${TENANTS_AT_ONCE}`,
  );
  for (let after: number | bigint = FIRST_INTEGER; ; ) {
    const found: StoredTenant[] = rows.all(after, only ?? null).map((row) => ({
      tenant: integerIn(row['tenant']),
      tenantId: textIn(row['tenant_id']),
    }));
    yield* found;
    if (found.length < TENANTS_AT_ONCE) return;
    after = found.at(-1)!.tenant;
  }
}

/** Pages, and that tables and their indexes say the same: an event that an index does not find is as good as gone. */
function requireIntegrity(db: DatabaseSync): void {
  const said = textIn(db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']);
  if (said !== 'ok') throw fault('MALFORMED', `the database is damaged: ${said.split('\n').join('; ')}`);
}

function anchorFaults(
  db: DatabaseSync,
  { remembered, tenant }: JournalWish,
  tenants: readonly TenantReport[],
): StoreFault[] {
  const isSigned = tenants.some(({ logs }) => logs.some(({ signedSize }) => signedSize > 0));
  const own = anchorFault(remembered, isSigned);
  const logOrigin = logOriginOrNone(db);
  return [
    ...(own === undefined ? [] : [storeFault(undefined, own)]),
    // Without a name of its logs the store has that fault already.
    ...(logOrigin === undefined
      ? []
      : missingLogs(headsRemembered(remembered), { logOrigin, tenant }, tenants)),
  ];
}

/** What is in the schema, is no evidence, and why. */
export function notEvidenceIn(db: DatabaseSync): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of columnsOrNone(db)) {
    const [table, column] = name.split('.') as [string, string];
    if (EVIDENCE_COLUMNS[table] === undefined) found[table] = NOT_EVIDENCE[table] ?? 'is not looked at';
    else if (EVIDENCE_COLUMNS[table][column] === undefined)
      found[name] = NOT_EVIDENCE[name] ?? 'is not looked at';
  }
  for (const [name, why] of Object.entries(NOT_EVIDENCE)) if (name.includes(' ')) found[name] = why;
  return found;
}

function logOriginOrNone(db: DatabaseSync): string | undefined {
  try {
    return readInstallation(db)?.logOrigin;
  } catch (error) {
    faultOf(error);
    return undefined;
  }
}

function columnsOrNone(db: DatabaseSync): string[] {
  try {
    return columnsOf(db);
  } catch (error) {
    faultOf(error);
    return [];
  }
}
