// A storage that can be handed out before it is open: the service listens first and opens its data afterwards. Until
// then everything that is asked of it is SERVICE_UNAVAILABLE; the gateway lets nobody come so far.

import { AuditError } from '@tallystick/contract';
import type { ApiKeyStore } from '../access/api-keys.ts';
import type { Storage } from './storage.ts';

export interface LateStorage
  extends Pick<Storage, 'log' | 'tree' | 'tenants' | 'apiKeys' | 'keyUses' | 'index' | 'nodes' | 'answers'>,
    AsyncDisposable {
  /** From now on it is that one, which is closed with this one. */
  use(opened: Storage): void;
}

export function createLateStorage(): LateStorage {
  let opened: Storage | undefined;
  const isStarting = () => new AuditError('SERVICE_UNAVAILABLE', 'The service is starting.');
  const starting = <T>(): Promise<T> => Promise.reject(isStarting());
  return {
    use(storage) {
      opened = storage;
    },
    log: {
      append: (requests, now, onHeld) => opened?.log.append(requests, now, onHeld) ?? starting(),
      seal: (request, now) => opened?.log.seal(request, now) ?? starting(),
      beginEpoch: (request, now) => opened?.log.beginEpoch(request, now) ?? starting(),
      sealAged: (now, except) => opened?.log.sealAged(now, except) ?? starting(),
      sweepUsedKeys: (steadyNowMs) => opened?.log.sweepUsedKeys(steadyNowMs) ?? starting(),
      probe: () => opened?.log.probe() ?? starting(),
      forTenant(tenant) {
        if (opened === undefined) throw isStarting();
        return opened.log.forTenant(tenant);
      },
    },
    tree: {
      standings: () => opened?.tree.standings() ?? starting(),
      stopAt: (tenant, size) => opened?.tree.stopAt(tenant, size) ?? starting(),
      confirm: () => opened?.tree.confirm() ?? starting(),
      readGrowth: () => opened?.tree.readGrowth() ?? starting(),
      publish: (logs, nowMs) => opened?.tree.publish(logs, nowMs) ?? starting(),
      newestSizes: (tenants) => opened?.tree.newestSizes(tenants) ?? starting(),
      cosign: (checkpoints) => opened?.tree.cosign(checkpoints) ?? starting(),
      nextLog: (tenant, index) => opened?.tree.nextLog(tenant, index) ?? starting(),
      checkRange: (wish, onProgress) => opened?.tree.checkRange(wish, onProgress) ?? starting(),
      tree: (tenant, index) => opened?.tree.tree(tenant, index) ?? starting(),
      head: (tenant, index) => opened?.tree.head(tenant, index) ?? starting(),
      proveEvent: (tenant, wish) => opened?.tree.proveEvent(tenant, wish) ?? starting(),
      proveGrowth: (tenant, from, to) => opened?.tree.proveGrowth(tenant, from, to) ?? starting(),
      cosigned: (tenant, below, limit) => opened?.tree.cosigned(tenant, below, limit) ?? starting(),
      evidenceRange: (tenant, from, end, limit) =>
        opened?.tree.evidenceRange(tenant, from, end, limit) ?? starting(),
    },
    tenants: {
      find: (tenantId) => opened?.tenants.find(tenantId) ?? starting(),
      ensure: (tenantId, nowMs) => opened?.tenants.ensure(tenantId, nowMs) ?? starting(),
    },
    apiKeys: lateKeys(() => opened?.apiKeys, starting),
    keyUses: {
      keep: (uses) => opened?.keyUses.keep(uses) ?? starting(),
      lastUses: (keys) => opened?.keyUses.lastUses(keys) ?? starting(),
    },
    index: {
      find: (tenant, question, deadline) => opened?.index.find(tenant, question, deadline) ?? starting(),
      state: (tenant) => opened?.index.state(tenant) ?? starting(),
      stateOfAll: () => opened?.index.stateOfAll() ?? starting(),
      isDamaged: () => opened?.index.isDamaged() ?? false,
      turn: () => opened?.index.turn() ?? starting(),
      beginRebuild: (tenant, request) => opened?.index.beginRebuild(tenant, request) ?? starting(),
      findRebuild: (tenant, operationId) => opened?.index.findRebuild(tenant, operationId) ?? starting(),
      letters: (tenant, wish) => opened?.index.letters(tenant, wish) ?? starting(),
      letterCount: (tenant) => opened?.index.letterCount(tenant) ?? starting(),
      letterCountOfAll: () => opened?.index.letterCountOfAll() ?? starting(),
      reprocess: (tenant, messageId) => opened?.index.reprocess(tenant, messageId) ?? starting(),
    },
    get nodes() {
      return opened?.nodes;
    },
    answers: () => opened?.answers() ?? starting(),
    async [Symbol.asyncDispose]() {
      await opened?.[Symbol.asyncDispose]();
    },
  };
}

function lateKeys(opened: () => ApiKeyStore | undefined, starting: <T>() => Promise<T>): ApiKeyStore {
  return {
    findByHash: (hash) => opened()?.findByHash(hash) ?? starting(),
    find: (keyId) => opened()?.find(keyId) ?? starting(),
    list: (tenantId) => opened()?.list(tenantId) ?? starting(),
    page: (tenantId, wish) => opened()?.page(tenantId, wish) ?? starting(),
    count: (tenantId) => opened()?.count(tenantId) ?? starting(),
    create: (record, hash) => opened()?.create(record, hash) ?? starting(),
    createFirst: (record, hash) => opened()?.createFirst(record, hash) ?? starting(),
    rotate: (next, hash, endsAtMs) => opened()?.rotate(next, hash, endsAtMs) ?? starting(),
    revoke: (keyId, atMs) => opened()?.revoke(keyId, atMs) ?? starting(),
  };
}
