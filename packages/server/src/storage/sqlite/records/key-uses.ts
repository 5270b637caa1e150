// When API keys were last used, in a separate table of journal.db.

import type { DatabaseSync } from 'node:sqlite';
import type { KeyId } from '@tallystick/contract';
import type { KeyUse, KeyUseStore, OwnedKey } from '../../../access/key-uses.ts';
import type { Calls } from '../../../runtime/calls.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import type { JournalOwner } from '../append/journal-owner.ts';

/** Runs inside the caller's transaction. */
export function keepKeyUses(db: DatabaseSync, uses: readonly KeyUse[]): void {
  const keep = db.prepare(
    `INSERT INTO api_key_uses (tenant_id, key_id, used_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (key_id) DO UPDATE SET used_at_ms = max(used_at_ms, excluded.used_at_ms)`,
  );
  for (const { tenantId, keyId, usedAtMs } of uses) keep.run(tenantId, keyId, usedAtMs);
}

export function readKeyUses(db: DatabaseSync, keys: readonly OwnedKey[]): Map<KeyId, number> {
  const read = db.prepare(
    'SELECT key_id, used_at_ms FROM api_key_uses WHERE key_id IN (SELECT value FROM json_each(?))',
  );
  const rows = read.all(JSON.stringify(keys.map(({ keyId }) => keyId)));
  return new Map(rows.map((row) => [textIn(row, 'key_id'), numberOf(row, 'used_at_ms')]));
}

export function createKeyUseStore(reading: DatabaseSync, owner: Calls<JournalOwner>): KeyUseStore {
  return {
    async keep(uses) {
      if (uses.length > 0) await owner.keepKeyUses(uses);
    },
    lastUses: async (keys) => readKeyUses(reading, keys),
  };
}
