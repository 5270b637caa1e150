// A port whose failures become SERVICE_UNAVAILABLE: callers learn that the call failed, the operator learns why.

import { AuditError } from '@tallystick/contract';

type Methods = Record<string, ((...args: readonly unknown[]) => unknown) | undefined>;

export function guarded<T extends object>(
  port: T,
  messageOf: (method: string) => string,
  onFailure: (error: unknown) => void = () => {},
): T {
  const orSay = async (method: string, work: Promise<unknown>) => {
    try {
      return await work;
    } catch (cause) {
      onFailure(cause);
      throw new AuditError('SERVICE_UNAVAILABLE', messageOf(method), { cause });
    }
  };
  return new Proxy(port, {
    get(target, name) {
      const method = (target as Methods)[name as string];
      if (typeof name === 'symbol' || typeof method !== 'function') return method;
      return (...args: readonly unknown[]) => {
        const result = Reflect.apply(method, target, args);
        if (result instanceof Promise) return orSay(name, result);
        // A port of one owner.
        return typeof result === 'object' && result !== null ? guarded(result, messageOf, onFailure) : result;
      };
    },
  });
}

const WRITES = ['ensure', 'keep', 'current', 'replaceFingerprintKey'];

/** For keys, tenants and all other records. */
export function recordsMessage(method: string): string {
  return WRITES.includes(method)
    ? 'Keys and tenants cannot be written at the moment; what was asked may be done or not.'
    : 'Keys and tenants cannot be read at the moment.';
}
