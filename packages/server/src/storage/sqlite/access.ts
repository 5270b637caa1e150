// API keys and tenants in journal.db. `createAccessTables` is the writing side, synchronous verbs for whoever holds
// the connection that may write; `createAccessReader` is the reading side over a connection of its own, with what it
// has read kept in memory. Each change of what grants rights counts `access_version` in `meta` up by one, and the reader, when it is asked,
// looks at that number if it has not for 5 ms: a key that another process revokes is refused within 5 ms, and one that
// this process revokes (`refresh`) with the next request.

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { KeyId, TenantId } from '@tallystick/contract';
import type { ApiKeyRecord } from '../../access/api-keys.ts';
import type { KeyUse, OwnedKey } from '../../access/key-uses.ts';
import type { TenantRecord } from '../../access/tenants.ts';
import type { RowsWish } from '../../paging.ts';
import type { Clock } from '../../runtime/clock.ts';
import { KEY_COLUMNS, keyOf, KEYS_COUNTED_MAX, keyValues, tenantOf } from '../rows/access-rows.ts';
import { numberOf, textIn } from '../rows/columns.ts';
import { LAST_ID } from '../rows/last-id.ts';
import { inTransaction } from './database.ts';

/** A tenant that is to exist, with the key that it gets if it does not yet. */
export interface NewTenant {
  readonly tenantId: TenantId;
  readonly fingerprintKey: Uint8Array;
}

/** A change, plain enough to be sent to another thread. */
export type AccessWrite =
  | { readonly verb: 'EnsureTenants'; readonly tenants: readonly NewTenant[]; readonly nowMs: number }
  | {
      readonly verb: 'CreateKey' | 'CreateFirstKey';
      readonly record: ApiKeyRecord;
      readonly hash: Uint8Array;
    }
  | {
      readonly verb: 'RotateKey';
      readonly next: ApiKeyRecord;
      readonly hash: Uint8Array;
      readonly endsAtMs: number;
    }
  | { readonly verb: 'RevokeKey'; readonly keyId: KeyId; readonly atMs: number }
  | { readonly verb: 'KeepKeyUses'; readonly uses: readonly KeyUse[] };

export interface AccessTables {
  /** Makes the change in one durable commit; false when there was nothing to change. */
  write(change: AccessWrite): boolean;
}

export function createAccessTables(db: DatabaseSync): AccessTables {
  const bump = db.prepare(
    `INSERT INTO meta (name, value) VALUES ('access_version', 1)
     ON CONFLICT (name) DO UPDATE SET value = value + 1`,
  );
  const ensureTenant = db.prepare(
    `INSERT INTO tenants (tenant_id, fingerprint_key, created_at_ms, updated_at_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT (tenant_id) DO NOTHING`,
  );
  const insertKey = db.prepare(
    `INSERT INTO api_keys (${KEY_COLUMNS})
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING`,
  );
  const findKeyOf = db.prepare('SELECT 1 FROM api_keys WHERE tenant_id = ? LIMIT 1');
  const endKey = db.prepare(
    `UPDATE api_keys SET expires_at_ms = min(coalesce(expires_at_ms, ?1), ?1)
     WHERE key_id = ?2 AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?3)
       AND NOT EXISTS (SELECT 1 FROM api_keys AS newer WHERE newer.replaces = ?2)`,
  );
  const revokeKey = db.prepare(
    'UPDATE api_keys SET revoked_at_ms = ? WHERE key_id = ? AND revoked_at_ms IS NULL',
  );
  const keepUse = db.prepare(
    `INSERT INTO api_key_uses (tenant_id, key_id, used_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (key_id) DO UPDATE SET used_at_ms = max(used_at_ms, excluded.used_at_ms)`,
  );

  const create = (record: ApiKeyRecord, hash: Uint8Array): boolean =>
    insertKey.run(...keyValues(record, hash)).changes > 0;
  const change = (wish: AccessWrite): boolean => {
    switch (wish.verb) {
      case 'EnsureTenants':
        return wish.tenants
          .map(({ tenantId, fingerprintKey }) =>
            ensureTenant.run(tenantId, fingerprintKey, wish.nowMs, wish.nowMs),
          )
          .some(({ changes }) => changes > 0);
      case 'CreateKey':
        return create(wish.record, wish.hash);
      case 'CreateFirstKey':
        return findKeyOf.get(wish.record.tenantId) === undefined && create(wish.record, wish.hash);
      case 'RotateKey': {
        const { next, hash, endsAtMs } = wish;
        return endKey.run(endsAtMs, next.replaces ?? '', next.createdAtMs).changes > 0 && create(next, hash);
      }
      case 'RevokeKey':
        return revokeKey.run(wish.atMs, wish.keyId).changes > 0;
      case 'KeepKeyUses':
        for (const { tenantId, keyId, usedAtMs } of wish.uses) keepUse.run(tenantId, keyId, usedAtMs);
        return wish.uses.length > 0;
    }
  };
  return {
    write: (wish) =>
      inTransaction(db, () => {
        const hasChanged = change(wish);
        // A use grants nothing: nobody has to read keys anew because of it.
        if (hasChanged && wish.verb !== 'KeepKeyUses') bump.run();
        return hasChanged;
      }),
  };
}

export interface AccessReader {
  /** What was changed just now is seen by the next call. */
  refresh(): void;
  keyByHash(hash: Uint8Array): ApiKeyRecord | undefined;
  key(keyId: KeyId): ApiKeyRecord | undefined;
  keys(tenantId: TenantId | '*' | undefined): readonly ApiKeyRecord[];
  page(tenantId: TenantId | '*', wish: RowsWish): readonly ApiKeyRecord[];
  count(tenantId: TenantId | '*'): number;
  lastUses(keys: readonly OwnedKey[]): ReadonlyMap<KeyId, number>;
  tenant(tenantId: TenantId): TenantRecord | undefined;
}

/** What another process has changed is seen after so long: to look for it costs more than all else that is asked here. */
const FRESH_NS = 5e6;

export function createAccessReader(db: DatabaseSync, clock: Clock): AccessReader {
  const readVersion = db.prepare("SELECT value FROM meta WHERE name = 'access_version'");
  const readKeyByHash = db.prepare('SELECT * FROM api_keys WHERE hash = ?');
  const readKey = db.prepare('SELECT * FROM api_keys WHERE key_id = ?');
  const readKeys = db.prepare('SELECT * FROM api_keys WHERE ?1 IS NULL OR tenant_id = ?1 ORDER BY key_id');
  const readBefore = db.prepare(
    'SELECT * FROM api_keys WHERE tenant_id = ? AND key_id < ? ORDER BY key_id DESC LIMIT ?',
  );
  const readAfter = db.prepare(
    'SELECT * FROM api_keys WHERE tenant_id = ? AND key_id > ? ORDER BY key_id LIMIT ?',
  );
  const countKeys = db.prepare(
    `SELECT count(*) AS count FROM (SELECT 1 FROM api_keys WHERE tenant_id = ? LIMIT ${KEYS_COUNTED_MAX})`,
  );
  const readUses = db.prepare(
    'SELECT key_id, used_at_ms FROM api_key_uses WHERE key_id IN (SELECT value FROM json_each(?))',
  );
  const readTenant = db.prepare('SELECT * FROM tenants WHERE tenant_id = ?');
  // Only what exists is kept, so strangers cannot fill the memory.
  const keysByHash = new Map<string, ApiKeyRecord>();
  const tenants = new Map<TenantId, TenantRecord>();
  let version: SQLOutputValue | undefined;

  let lookAtNs = 0;
  const forgetOnChange = () => {
    const nowNs = clock.monotonicNs();
    if (nowNs < lookAtNs) return;
    lookAtNs = nowNs + FRESH_NS;
    const found = readVersion.get()?.['value'];
    if (found === version) return;
    version = found;
    keysByHash.clear();
    tenants.clear();
  };
  return {
    refresh() {
      lookAtNs = 0;
    },
    keyByHash(hash) {
      forgetOnChange();
      return kept(keysByHash, hexOf(hash), () => optionally(keyOf, readKeyByHash.get(hash)));
    },
    key: (keyId) => optionally(keyOf, readKey.get(keyId)),
    keys: (tenantId) => readKeys.all(tenantId ?? null).map(keyOf),
    page: (tenantId, { way, beyond, limit }) =>
      (way === 'NewestFirst'
        ? readBefore.all(tenantId, beyond ?? LAST_ID, limit)
        : readAfter.all(tenantId, beyond ?? '', limit)
      ).map(keyOf),
    count: (tenantId) => numberOf(countKeys.get(tenantId), 'count'),
    lastUses(keys) {
      const rows = readUses.all(JSON.stringify(keys.map(({ keyId }) => keyId)));
      return new Map(rows.map((row) => [textIn(row, 'key_id'), numberOf(row, 'used_at_ms')]));
    },
    tenant(tenantId) {
      forgetOnChange();
      return kept(tenants, tenantId, () => optionally(tenantOf, readTenant.get(tenantId)));
    },
  };
}

function kept<V>(known: Map<string, V>, name: string, read: () => V | undefined): V | undefined {
  const found = known.get(name) ?? read();
  if (found !== undefined) known.set(name, found);
  return found;
}

function hexOf(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('hex');
}

type Row = Record<string, SQLOutputValue>;

function optionally<T>(read: (row: Row) => T, row: Row | undefined): T | undefined {
  return row === undefined ? undefined : read(row);
}
