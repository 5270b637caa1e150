// Rows that belong to nothing: of tenants that are not there, and contents whose entry is missing. Tenants are found by
// skipping from one to the next in the keys of each table, which costs the same however large the logs are.

import type { DatabaseSync } from 'node:sqlite';
import { fault } from '../../fsck/store-fault.ts';
import { placesOf } from '../../tables.ts';
import { FIRST_INTEGER, integerIn } from './rows.ts';

/** Throws EvidenceError at the first row of a tenant that is not there. */
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

/** Throws EvidenceError; `met` is how many contents were met with their entries, undefined if that is not known. */
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
