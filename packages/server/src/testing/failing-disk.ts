// A disk that fails once, or under which something happens, with files that are real.

import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { mock } from 'node:test';

type Method = 'sync' | 'read' | 'write' | 'truncate';
type Call = (this: FileHandle, ...args: unknown[]) => Promise<unknown>;

/** The n-th such call from now on fails as a disk does. */
export function failing(
  method: Method,
  code: string,
  nth = 1,
): Promise<Disposable & { calls: () => number }> {
  let left = nth;
  return replaced(
    method,
    (real) =>
      async function (...args) {
        if (--left !== 0) return real.apply(this, args);
        // Half of it arrives, as on a disk that is full.
        if (method === 'write')
          await real.call(this, args[0], args[1], Math.floor(Number(args[2]) / 2), args[3]);
        throw Object.assign(new Error(code), { code });
      },
  );
}

/** Before each such call from now on, something else happens. */
export function meanwhile(method: Method, act: () => void): Promise<Disposable> {
  return replaced(
    method,
    (real) =>
      async function (...args) {
        act();
        return real.apply(this, args);
      },
  );
}

async function replaced(
  method: Method,
  replacement: (real: Call) => Call,
): Promise<Disposable & { calls: () => number }> {
  await using any = await open(tmpdir(), 'r');
  const prototype = Object.getPrototypeOf(any) as FileHandle;
  const { mock: calls } = mock.method(prototype, method, replacement(prototype[method] as Call) as never);
  return { calls: () => calls.callCount(), [Symbol.dispose]: () => calls.restore() };
}
