// Rows without an owner: of missing tenants, and contents without an entry. Tenants are found by skipping through the
// keys of each table, at a cost that does not depend on the size of the logs.

import type { DatabaseSync } from 'node:sqlite';
import { fault } from '../../fsck/store-fault.ts';
import { placesOf } from '../../tables.ts';
import { FIRST_INTEGER, integerIn } from './rows.ts';

/** Throws EvidenceError at the first row of a missing tenant. */
export function requireKnownTenants(db: DatabaseSync): void {
  const known = db.prepare('SELECT 1 FROM tenants WHERE tenant = ?');
  for (const [table, place] of placesOf('SQLite')) {
    const next = db.prepare(
      `SELECT tenant, ${place} AS place FROM ${table} WHERE tenant > ? ORDER BY tenant LIMIT 1`,
    );
    for (let row = next.get(FIRST_INTEGER); row !== undefined; ) {
      const tenant = integerIn(row['tenant']);
      if (known.get(tenant) === undefined)
        throw fault(
          'ORIGIN_MISMATCH',
          `${table} has rows of a tenant ${tenant}, which is not there`,
          integerIn(row['place']),
        );
      row = next.get(tenant);
    }
  }
}

/** Throws EvidenceError; `met` is the number of contents that were found with their entries, undefined if unknown. */
export function requireNoStrayContent(db: DatabaseSync, met: number | undefined): void {
  const count = () => integerIn(db.prepare('SELECT count(*) AS count FROM contents').get()?.['count']);
  if (met !== undefined && count() === met) return;
  const stray = db
    .prepare(
      'SELECT id FROM contents WHERE NOT EXISTS (SELECT 1 FROM entries WHERE entries.id = contents.id) LIMIT 1',
    )
    .get();
  if (stray === undefined) return;
  throw fault('TRUNCATED', `there is content with the id ${integerIn(stray['id'])}, and no entry of that id`);
}
