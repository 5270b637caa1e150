// A storage that can be passed around before it is open: the service listens first and opens its data afterwards. Until
// then every call gives SERVICE_UNAVAILABLE; the gateway rejects requests before they get here.

import { AuditError } from '@tallystick/contract';
import type { Storage } from './storage.ts';

type LatePort =
  | 'log'
  | 'removal'
  | 'tree'
  | 'tenants'
  | 'records'
  | 'tenantKeys'
  | 'secretKeys'
  | 'keyUses'
  | 'work'
  | 'follows'
  | 'violations'
  | 'index';

export interface LateStorage
  extends Pick<Storage, LatePort | 'logOrigin' | 'logPlace' | 'nodes' | 'answers'>,
    AsyncDisposable {
  /** All calls go to this one from now on; it is closed with this. */
  use(opened: Storage): void;
}

export function createLateStorage(): LateStorage {
  let opened: Storage | undefined;
  const port = <P extends LatePort>(name: P, early: Partial<Storage[P]> = {}): Storage[P] =>
    late(() => opened?.[name] ?? early);
  return {
    use(storage) {
      opened = storage;
    },
    log: port('log', { forTenant: failAtOnce }),
    removal: port('removal'),
    tree: port('tree'),
    tenants: port('tenants'),
    records: port('records', { forOwner: failAtOnce, freshMs: () => 0 }),
    tenantKeys: port('tenantKeys'),
    secretKeys: port('secretKeys'),
    keyUses: port('keyUses'),
    work: port('work', { forTenant: failAtOnce }),
    follows: port('follows'),
    violations: port('violations', { forTenant: failAtOnce }),
    // Health is queried from the start.
    index: port('index', { forTenant: failAtOnce, isDamaged: () => false }),
    get logOrigin() {
      if (opened === undefined) throw isStarting();
      return opened.logOrigin;
    },
    get logPlace() {
      if (opened === undefined) throw isStarting();
      return opened.logPlace;
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

type Methods = Record<string, ((...args: readonly unknown[]) => unknown) | undefined>;

/** Each method is looked up when it is called. */
function late<T extends object>(current: () => Partial<T>): T {
  return new Proxy({} as T, {
    get: (_, name) =>
      typeof name === 'symbol' || name === 'then'
        ? undefined
        : (...args: readonly unknown[]) => {
            const port = current() as Methods;
            return port[name] === undefined ? starting() : port[name](...args);
          },
  });
}

function failAtOnce(): never {
  throw isStarting();
}

async function starting(): Promise<never> {
  throw isStarting();
}

function isStarting(): AuditError {
  return new AuditError('SERVICE_UNAVAILABLE', 'The service is starting.');
}
