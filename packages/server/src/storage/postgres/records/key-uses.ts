// When API keys were last used, in a separate table. A loop of each node writes it, for all tenants.

import type { KeyId } from '@tallystick/contract';
import type { KeyUse, KeyUseStore, OwnedKey } from '../../../access/key-uses.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { ALL_TENANTS, type Database, statement } from '../connection/database.ts';

// In the order of the key, to prevent deadlocks between nodes.
const KEEP = statement(
  `INSERT INTO api_key_uses (tenant_id, key_id, used_at_ms)
   SELECT tenant, id, used FROM unnest($1::text[], $2::text[], $3::bigint[]) AS use (tenant, id, used)
   ORDER BY tenant COLLATE "C", id COLLATE "C"
   ON CONFLICT (tenant_id, key_id)
     DO UPDATE SET used_at_ms = greatest(api_key_uses.used_at_ms, excluded.used_at_ms)`,
);
const READ = statement(
  `SELECT key_id, used_at_ms FROM api_key_uses
   WHERE tenant_id = ANY ($1::text[]) AND key_id = ANY ($2::text[])`,
);

export function createKeyUseStore(database: Database): KeyUseStore {
  return {
    keep: (uses) => keepKeyUses(database, uses),
    lastUses: (keys) => lastKeyUses(database, keys),
  };
}

async function keepKeyUses(database: Database, uses: readonly KeyUse[]): Promise<void> {
  if (uses.length === 0) return;
  const values = [
    uses.map(({ tenantId }) => tenantId),
    uses.map(({ keyId }) => keyId),
    uses.map(({ usedAtMs }) => usedAtMs),
  ];
  await database.inTransaction(ALL_TENANTS, (transaction) => transaction.change(KEEP, values));
}

async function lastKeyUses(
  database: Database,
  keys: readonly OwnedKey[],
): Promise<ReadonlyMap<KeyId, number>> {
  if (keys.length === 0) return new Map();
  const tenants = [...new Set(keys.map(({ tenantId }) => tenantId))];
  const ids = keys.map(({ keyId }) => keyId);
  const rows = await database.read({ role: 'Reader', tenants }, READ, [tenants, ids]);
  return new Map(rows.map((row) => [textIn(row, 'key_id'), numberOf(row, 'used_at_ms')]));
}
