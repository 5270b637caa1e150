// API keys and tenants in their tables. Each change is one durable commit. One of keys counts `access_version` in `meta` up by
// one, so that other nodes see that what they have read may be over; a tenant that is added is nothing that anybody has read. All who change rows here take them in the same order, and
// `meta` last: nodes wait for one another, never in a circle.

import type { KeyId, TenantId } from '@tallystick/contract';
import type { ApiKeyRecord } from '../../access/api-keys.ts';
import type { TenantRecord } from '../../access/tenants.ts';
import type { RowsWish } from '../../paging.ts';
import type { Random } from '../../runtime/random.ts';
import {
  FINGERPRINT_KEY_BYTES,
  KEY_COLUMNS,
  keyOf,
  KEYS_COUNTED_MAX,
  keyValues,
  tenantOf,
} from '../rows/access-rows.ts';
import { numberOf } from '../rows/columns.ts';
import { LAST_ID } from '../rows/last-id.ts';
import { type Database, PROJECTOR, type Row, type Scope, statement, type Transaction } from './database.ts';

const READ_VERSION = statement("SELECT value FROM meta WHERE name = 'access_version'");
const COUNT_UP = statement(
  `INSERT INTO meta (name, value) VALUES ('access_version', '1')
   ON CONFLICT (name) DO UPDATE SET value = (meta.value::bigint + 1)::text`,
);

const READ_TENANTS = statement('SELECT * FROM tenants WHERE tenant_id = ANY ($1::text[])');
const ADD_TENANTS = statement(
  `INSERT INTO tenants (tenant_id, fingerprint_key, created_at_ms, updated_at_ms)
   SELECT id, key, $3::bigint, $3::bigint FROM unnest($1::text[], $2::bytea[]) AS wanted (id, key)
   ORDER BY id COLLATE "C" ON CONFLICT (tenant_id) DO NOTHING`,
);
const ADD_HEADS = statement(
  `INSERT INTO heads (tenant_id) SELECT id FROM unnest($1::text[]) AS wanted (id)
   ORDER BY id COLLATE "C" ON CONFLICT (tenant_id) DO NOTHING`,
);

const READ_KEY_BY_HASH = statement('SELECT * FROM api_keys WHERE hash = $1');
const READ_KEY = statement('SELECT * FROM api_keys WHERE key_id = $1');
const READ_ALL_KEYS = statement('SELECT * FROM api_keys ORDER BY key_id');
const READ_KEYS = statement('SELECT * FROM api_keys WHERE tenant_id = $1 ORDER BY key_id');
const READ_BEFORE = statement(
  'SELECT * FROM api_keys WHERE tenant_id = $1 AND key_id < $2 ORDER BY key_id DESC LIMIT $3',
);
const READ_AFTER = statement(
  'SELECT * FROM api_keys WHERE tenant_id = $1 AND key_id > $2 ORDER BY key_id LIMIT $3',
);
const COUNT_KEYS = statement(
  `SELECT count(*) AS count FROM (SELECT 1 FROM api_keys WHERE tenant_id = $1 LIMIT ${KEYS_COUNTED_MAX}) AS counted`,
);
// A hash cannot be unique over all tenants, which may be on several machines. So whoever adds a key keeps out others that
// add one of the same hash, and then looks.
const HOLD_HASH = statement('SELECT pg_advisory_xact_lock($1::integer, $2::integer)');
const HAS_HASH = statement('SELECT 1 FROM api_keys WHERE hash = $1 LIMIT 1');
const ADD_KEY = statement(
  `INSERT INTO api_keys (${KEY_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
);
// Before END_KEY, which would see the key as others have left it, but not what they have put in its place.
const HOLD_KEY = statement('SELECT 1 FROM api_keys WHERE tenant_id = $1 AND key_id = $2 FOR UPDATE');
const END_KEY = statement(
  `UPDATE api_keys AS old SET expires_at_ms = least(coalesce(expires_at_ms, $1::bigint), $1::bigint)
   WHERE tenant_id = $2 AND key_id = $3 AND revoked_at_ms IS NULL
     AND (expires_at_ms IS NULL OR expires_at_ms > $4::bigint)
     AND NOT EXISTS (SELECT 1 FROM api_keys AS newer WHERE newer.tenant_id = $2 AND newer.replaces = $3)`,
);
const REVOKE_KEY = statement(
  `UPDATE api_keys SET revoked_at_ms = $1::bigint
   WHERE tenant_id = $2 AND key_id = $3 AND revoked_at_ms IS NULL`,
);

/** Any number: locks of this kind have two, the other is from the hash. */
const HASH_LOCK = 0x6b65_7973;
const FIRST_LOCK = 0x6669_7273;
const NO_TENANT: Scope = { role: 'Reader', tenants: [] };

export class AccessTables {
  readonly #database: Database;
  readonly #random: Random;

  constructor(database: Database, random: Random) {
    this.#database = database;
    this.#random = random;
  }

  /** Another one after each change. */
  async version(): Promise<unknown> {
    return (await this.#database.read(NO_TENANT, READ_VERSION))[0]?.['value'];
  }

  async keyByHash(hash: Uint8Array): Promise<ApiKeyRecord | undefined> {
    return firstKey(await this.#database.read({ role: 'Reader', keyHash: hash }, READ_KEY_BY_HASH, [hash]));
  }

  async key(keyId: KeyId): Promise<ApiKeyRecord | undefined> {
    return firstKey(await this.#database.read(PROJECTOR, READ_KEY, [keyId]));
  }

  async keys(tenantId: TenantId | '*' | undefined): Promise<ApiKeyRecord[]> {
    const rows =
      tenantId === undefined
        ? await this.#database.read(PROJECTOR, READ_ALL_KEYS)
        : await this.#database.read({ role: 'Reader', tenants: [tenantId] }, READ_KEYS, [tenantId]);
    return rows.map(keyOf);
  }

  async page(tenantId: TenantId | '*', { way, beyond, limit }: RowsWish): Promise<ApiKeyRecord[]> {
    const [asked, from] =
      way === 'NewestFirst' ? [READ_BEFORE, beyond ?? LAST_ID] : [READ_AFTER, beyond ?? ''];
    const scope: Scope = { role: 'Reader', tenants: [tenantId] };
    return (await this.#database.read(scope, asked, [tenantId, from, limit])).map(keyOf);
  }

  async count(tenantId: TenantId | '*'): Promise<number> {
    const [row] = await this.#database.read({ role: 'Reader', tenants: [tenantId] }, COUNT_KEYS, [tenantId]);
    return numberOf(row, 'count');
  }

  /** Those of them that there are. */
  async tenants(ids: readonly TenantId[]): Promise<Map<TenantId, TenantRecord>> {
    return byId(await this.#database.read({ role: 'Reader', tenants: ids }, READ_TENANTS, [ids]));
  }

  /** The tenants with these ids, each one once; those that are not there are made, with the place where their log begins. */
  async ensureTenants(ids: readonly TenantId[], nowMs: number): Promise<Map<TenantId, TenantRecord>> {
    return this.#database.inTransaction({ role: 'Writer', tenants: ids }, async (transaction) => {
      const fingerprintKeys = ids.map(() => this.#random.bytes(FINGERPRINT_KEY_BYTES));
      const [, , rows] = await Promise.all([
        transaction.change(ADD_TENANTS, [ids, fingerprintKeys, nowMs]),
        transaction.change(ADD_HEADS, [ids]),
        // Another node may have made some of them first.
        transaction.query(READ_TENANTS, [ids]),
      ]);
      return byId(rows);
    });
  }

  async createKey(record: ApiKeyRecord, hash: Uint8Array): Promise<boolean> {
    return this.#changeHolding(record.tenantId, hash, (transaction) => addKey(transaction, record, hash));
  }

  async createFirstKey(record: ApiKeyRecord, hash: Uint8Array): Promise<boolean> {
    const { tenantId } = record;
    return this.#changeHolding(tenantId, hash, async (transaction) => {
      await transaction.query(HOLD_HASH, [FIRST_LOCK, 0]);
      // Only now: whoever had the lock has committed.
      const others = await transaction.query(READ_KEYS, [tenantId]);
      return others.length === 0 && (await addKey(transaction, record, hash));
    });
  }

  async rotateKey(next: ApiKeyRecord, hash: Uint8Array, endsAtMs: number): Promise<boolean> {
    const { tenantId, replaces = '', createdAtMs } = next;
    return this.#changeHolding(tenantId, hash, async (transaction) => {
      const [, ended] = await Promise.all([
        transaction.query(HOLD_KEY, [tenantId, replaces]),
        transaction.change(END_KEY, [endsAtMs, tenantId, replaces, createdAtMs]),
      ]);
      return ended > 0 && (await addKey(transaction, next, hash));
    });
  }

  async revokeKey(keyId: KeyId, atMs: number): Promise<boolean> {
    const key = await this.key(keyId);
    if (key === undefined) return false;
    const { tenantId } = key;
    return this.#database.inTransaction({ role: 'Writer', tenants: [tenantId] }, (transaction) =>
      counted(transaction, async () => (await transaction.change(REVOKE_KEY, [atMs, tenantId, keyId])) > 0),
    );
  }

  #changeHolding(
    tenantId: TenantId | '*',
    keyHash: Uint8Array,
    change: (transaction: Transaction) => Promise<boolean>,
  ): Promise<boolean> {
    const scope: Scope = { role: 'Writer', tenants: [tenantId], keyHash };
    return this.#database.inTransaction(scope, async (transaction) => {
      await transaction.query(HOLD_HASH, [HASH_LOCK, beginningOf(keyHash)]);
      if ((await transaction.query(HAS_HASH, [keyHash])).length > 0) return false;
      return counted(transaction, () => change(transaction));
    });
  }
}

async function counted(transaction: Transaction, change: () => Promise<boolean>): Promise<boolean> {
  const hasChanged = await change();
  if (hasChanged) await transaction.change(COUNT_UP);
  return hasChanged;
}

async function addKey(transaction: Transaction, record: ApiKeyRecord, hash: Uint8Array): Promise<boolean> {
  return (await transaction.change(ADD_KEY, keyValues(record, hash))) > 0;
}

function byId(rows: readonly Row[]): Map<TenantId, TenantRecord> {
  return new Map(rows.map(tenantOf).map((tenant) => [tenant.tenantId, tenant]));
}

function firstKey([row]: readonly Row[]): ApiKeyRecord | undefined {
  return row === undefined ? undefined : keyOf(row);
}

function beginningOf(hash: Uint8Array): number {
  return new DataView(hash.buffer, hash.byteOffset, hash.byteLength).getInt32(0);
}
