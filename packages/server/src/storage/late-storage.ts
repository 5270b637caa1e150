// A storage that can be handed out before it is open: the service listens first and opens its data afterwards. Until
// then everything that is asked of it is SERVICE_UNAVAILABLE; the gateway lets nobody come so far.

import { AuditError } from '@tallystick/contract';
import type { Storage } from './storage.ts';

export interface LateStorage extends Pick<Storage, 'log' | 'tenants' | 'apiKeys'>, AsyncDisposable {
  /** From now on it is that one, which is closed with this one. */
  use(opened: Storage): void;
}

export function createLateStorage(): LateStorage {
  let opened: Storage | undefined;
  const get = (): Storage => {
    if (opened === undefined) throw new AuditError('SERVICE_UNAVAILABLE', 'The service is starting.');
    return opened;
  };
  return {
    use(storage) {
      opened = storage;
    },
    log: {
      append: (requests, now) => get().log.append(requests, now),
      sweepUsedKeys: (steadyNowMs) => get().log.sweepUsedKeys(steadyNowMs),
      probe: () => get().log.probe(),
      forTenant: (tenant) => get().log.forTenant(tenant),
    },
    tenants: {
      find: (tenantId) => get().tenants.find(tenantId),
      ensure: (tenantId, nowMs) => get().tenants.ensure(tenantId, nowMs),
    },
    apiKeys: {
      findByHash: (hash) => get().apiKeys.findByHash(hash),
      find: (keyId) => get().apiKeys.find(keyId),
      list: (tenantId) => get().apiKeys.list(tenantId),
      create: (record, hash) => get().apiKeys.create(record, hash),
      rotate: (next, hash, endsAtMs) => get().apiKeys.rotate(next, hash, endsAtMs),
      revoke: (keyId, atMs) => get().apiKeys.revoke(keyId, atMs),
    },
    async [Symbol.asyncDispose]() {
      await opened?.[Symbol.asyncDispose]();
    },
  };
}
