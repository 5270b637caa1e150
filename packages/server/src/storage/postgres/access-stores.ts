// The ports for keys and tenants on PostgreSQL: what was read is kept while it holds, and tenants that are asked for or made at
// the same time share one statement. What fails is SERVICE_UNAVAILABLE: nothing is known of it, and it is safe to ask for
// again.

import { AuditError, type TenantId } from '@tallystick/contract';
import type { ApiKeyStore } from '../../access/api-keys.ts';
import type { KeyUseStore } from '../../access/key-uses.ts';
import type { TenantRecord, TenantStore } from '../../access/tenants.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { AccessMemory } from './access-memory.ts';
import { AccessTables } from './access.ts';
import type { Database } from './database.ts';
import { keepKeyUses, lastKeyUses } from './key-uses.ts';
import { TenantPool } from './tenant-pool.ts';

export interface AccessStores {
  readonly keys: ApiKeyStore;
  readonly uses: KeyUseStore;
  readonly tenants: TenantStore;
}

export interface AccessStoresParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Told what the database has said; callers are not. */
  readonly onFailure?: (error: unknown) => void;
}

export function createAccessStores(
  database: Database,
  { clock, random, onFailure }: AccessStoresParts,
): AccessStores {
  const tables = new AccessTables(database, random);
  const orSay = async <T>(message: string, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      onFailure?.(cause);
      throw new AuditError('SERVICE_UNAVAILABLE', message, { cause });
    }
  };
  const read: Attempt = (work) => orSay('Keys and tenants cannot be read at the moment.', work);
  const write: Attempt = (work) =>
    orSay('Keys and tenants cannot be written at the moment; what was asked may be done or not.', work);
  const memory = new AccessMemory(() => read(tables.version()), clock);
  const parts = { tables, memory, read, write };
  return {
    keys: createKeyStore(parts),
    uses: {
      keep: (uses) => write(keepKeyUses(database, uses)),
      lastUses: (keys) => read(lastKeyUses(database, keys)),
    },
    tenants: createTenantStore(parts),
  };
}

/** Says that it could not be done, whatever the cause. */
type Attempt = <T>(work: Promise<T>) => Promise<T>;

interface StoreParts {
  readonly tables: AccessTables;
  readonly memory: AccessMemory;
  readonly read: Attempt;
  readonly write: Attempt;
}

function createKeyStore({ tables, memory, read, write }: StoreParts): ApiKeyStore {
  // Also after a failure: it may be done all the same.
  const change = (work: Promise<boolean>) => write(work).finally(() => memory.forget());
  return {
    async findByHash(hash) {
      const { keys } = await memory.current();
      const name = Buffer.from(hash).toString('hex');
      return keys.get(name) ?? keys.put(name, read(tables.keyByHash(hash)));
    },
    find: (keyId) => read(tables.key(keyId)),
    list: (tenantId) => read(tables.keys(tenantId)),
    page: (tenantId, wish) => read(tables.page(tenantId, wish)),
    count: (tenantId) => read(tables.count(tenantId)),
    create: (record, hash) => change(tables.createKey(record, hash)),
    createFirst: (record, hash) => change(tables.createFirstKey(record, hash)),
    rotate: (next, hash, endsAtMs) => change(tables.rotateKey(next, hash, endsAtMs)),
    revoke: (keyId, atMs) => change(tables.revokeKey(keyId, atMs)),
  };
}

function createTenantStore({ tables, memory, read, write }: StoreParts): TenantStore {
  let newestMs = 0;
  const reads = new TenantPool((ids) => read(tables.tenants(ids)));
  const writes = new TenantPool((ids) => write(tables.ensureTenants(ids, newestMs)));
  const ensured = async (tenantId: TenantId): Promise<TenantRecord> => {
    const made = await writes.ask(tenantId);
    if (made === undefined) throw new Error(`the tenant ${tenantId} was made and is not there`);
    return made;
  };
  return {
    async find(tenantId) {
      const { tenants } = await memory.current();
      return tenants.get(tenantId) ?? tenants.put(tenantId, reads.ask(tenantId));
    },
    async ensure(tenantId, nowMs) {
      const { tenants } = await memory.current();
      const found = await tenants.get(tenantId);
      if (found !== undefined) return found;
      newestMs = nowMs;
      return tenants.put(tenantId, ensured(tenantId));
    },
  };
}
