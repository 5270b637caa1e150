// The ports for keys and tenants on SQLite: reads go to the reader at once, changes to whoever may write, be it a
// thread or the same connection. Tenants that are asked for at the same time share one commit. A change that fails
// is SERVICE_UNAVAILABLE: nothing is known of it, and it is safe to ask for again.

import { AuditError, type TenantId } from '@tallystick/contract';
import type { ApiKeyStore } from '../../access/api-keys.ts';
import type { KeyUseStore } from '../../access/key-uses.ts';
import type { TenantRecord, TenantStore } from '../../access/tenants.ts';
import type { Random } from '../../runtime/random.ts';
import { FINGERPRINT_KEY_BYTES } from '../rows/access-rows.ts';
import type { AccessReader, AccessWrite } from './access.ts';

/** Resolves once the change is durable. */
export type WriteAccess = (change: AccessWrite) => Promise<boolean>;

export interface AccessStores {
  readonly keys: ApiKeyStore;
  readonly uses: KeyUseStore;
  readonly tenants: TenantStore;
}

export function createAccessStores(
  reader: AccessReader,
  write: WriteAccess,
  random: Random,
  onFailure?: (error: unknown) => void,
): AccessStores {
  const writeOrSay: WriteAccess = async (change) => {
    try {
      return await write(change);
    } catch (cause) {
      onFailure?.(cause);
      throw new AuditError(
        'SERVICE_UNAVAILABLE',
        'Keys and tenants cannot be written at the moment; what was asked may be done or not.',
        { cause },
      );
    } finally {
      reader.refresh();
    }
  };
  return {
    keys: createKeyStore(reader, writeOrSay),
    uses: {
      async keep(uses) {
        if (uses.length > 0) await writeOrSay({ verb: 'KeepKeyUses', uses });
      },
      async lastUses(keys) {
        return reader.lastUses(keys);
      },
    },
    tenants: createTenantStore(reader, writeOrSay, random),
  };
}

function createKeyStore(reader: AccessReader, write: WriteAccess): ApiKeyStore {
  return {
    async findByHash(hash) {
      return reader.keyByHash(hash);
    },
    async find(keyId) {
      return reader.key(keyId);
    },
    async list(tenantId) {
      return reader.keys(tenantId);
    },
    async page(tenantId, wish) {
      return reader.page(tenantId, wish);
    },
    async count(tenantId) {
      return reader.count(tenantId);
    },
    create: (record, hash) => write({ verb: 'CreateKey', record, hash }),
    createFirst: (record, hash) => write({ verb: 'CreateFirstKey', record, hash }),
    rotate: (next, hash, endsAtMs) => write({ verb: 'RotateKey', next, hash, endsAtMs }),
    revoke: (keyId, atMs) => write({ verb: 'RevokeKey', keyId, atMs }),
  };
}

function createTenantStore(reader: AccessReader, write: WriteAccess, random: Random): TenantStore {
  // Those that wait for the next commit; it is sent once the one under way is through.
  let waiting: { readonly ids: Set<TenantId>; readonly done: Promise<unknown> } | undefined;
  let underWay: Promise<unknown> = Promise.resolve();

  const join = (tenantId: TenantId, nowMs: number): Promise<unknown> => {
    if (waiting !== undefined) {
      waiting.ids.add(tenantId);
      return waiting.done;
    }
    const ids = new Set([tenantId]);
    const send = () => {
      waiting = undefined;
      const tenants = [...ids].map((id) => ({
        tenantId: id,
        fingerprintKey: random.bytes(FINGERPRINT_KEY_BYTES),
      }));
      return write({ verb: 'EnsureTenants', tenants, nowMs });
    };
    const done = underWay.then(send, send);
    waiting = { ids, done };
    underWay = done;
    return done;
  };
  return {
    async find(tenantId) {
      return reader.tenant(tenantId);
    },
    async ensure(tenantId, nowMs): Promise<TenantRecord> {
      const found = reader.tenant(tenantId);
      if (found !== undefined) return found;
      await join(tenantId, nowMs);
      const made = reader.tenant(tenantId);
      if (made === undefined) throw new Error(`the tenant ${tenantId} was made and is not there`);
      return made;
    },
  };
}
