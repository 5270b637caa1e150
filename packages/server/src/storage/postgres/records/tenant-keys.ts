// The keys of tenants in the database, beside the writer: postgres/append/pool-keys.ts.

import { textIn } from '../../rows/columns.ts';
import { ALL_TENANTS, type Database, statement } from '../connection/database.ts';

const RING_KEYS = statement(`SELECT DISTINCT ring_key FROM tenant_keys WHERE state <> 'Destroyed'`);

/** The keys of the keyring that have sealed some of them. */
export async function ringKeysIn(database: Database, scope = ALL_TENANTS): Promise<string[]> {
  return (await database.read(scope, RING_KEYS)).map((row) => textIn(row, 'ring_key'));
}
