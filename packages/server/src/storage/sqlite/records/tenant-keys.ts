// The keys of tenants in journal.db, beside the writer: sqlite/append/journal-keys.ts.

import type { DatabaseSync } from 'node:sqlite';
import { textIn } from '../../rows/columns.ts';

/** The keys of the keyring that have sealed some of them. */
export function ringKeysIn(db: DatabaseSync): string[] {
  return db
    .prepare(`SELECT DISTINCT ring_key FROM tenant_keys WHERE state <> 'Destroyed'`)
    .all()
    .map((row) => textIn(row, 'ring_key'));
}

export function hasKeys(db: DatabaseSync): boolean {
  return db.prepare('SELECT 1 FROM tenant_keys LIMIT 1').get() !== undefined;
}
