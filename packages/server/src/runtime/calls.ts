// Calls of an object that lives in another thread, typed by that object: a method is written once, where it does its work.
// Arguments and results are cloned, but for an ArrayBuffer, which changes hands.

import type { MessagePort } from 'node:worker_threads';
import { serveThread, type ThreadHandle, type ThreadWork } from './thread.ts';

/** The methods of an object as others call them, each with a promise for its result. */
export type Calls<T> = {
  readonly [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (
    ...args: infer A
  ) => infer R
    ? (...args: A) => Promise<Awaited<R>>
    : never;
};

/** One call, of one of the objects that a thread has. */
export interface CallMessage {
  readonly part: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

type Method = (...args: readonly unknown[]) => unknown;

/** Of the object that a thread serves under this name. */
export function callsTo<T extends object>(
  thread: Pick<ThreadHandle<CallMessage>, 'ask'>,
  part: string,
): Calls<T> {
  const calling =
    (method: string): Method =>
    (...args) =>
      thread.ask({ part, method, args }, buffersIn(args));
  return methodsBy(calling) as Calls<T>;
}

/** Of an object in this thread, in the same form. */
export function callsHere<T extends object>(target: T): Calls<T> {
  const calling =
    (method: string): Method =>
    async (...args) =>
      call(target, method, args);
  return methodsBy(calling) as Calls<T>;
}

/** The same methods without their first argument, which is always this one. */
export function callsFor<First, Methods extends object>(
  first: First,
  calls: Methods,
): BoundMethods<Methods, First> {
  const calling =
    (method: string): Method =>
    (...args) =>
      call(calls, method, [first, ...args]);
  return methodsBy(calling) as BoundMethods<Methods, First>;
}

/** The other way round: the methods of a port of one tenant, with the tenant as their first argument. */
export type OfAny<T, First> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => infer R
    ? (first: First, ...args: A) => R
    : never;
};

export type BoundMethods<T, First> = {
  readonly [K in keyof T]: T[K] extends (first: First, ...rest: infer A) => infer R
    ? (...rest: A) => R
    : never;
};

/** The other end, inside the thread: `parts` are its objects by name. */
export function serveCalls(
  parts: Readonly<Record<string, object>>,
  stop: ThreadWork<CallMessage>['stop'],
  from?: MessagePort,
): void {
  serveThread<CallMessage>(
    {
      answer({ part, method, args }) {
        const result = call(parts[part]!, method, args);
        return result instanceof Promise ? result.then(answerOf) : answerOf(result);
      },
      stop,
    },
    from,
  );
}

function answerOf(value: unknown) {
  return { value, handOver: buffersIn([value]) };
}

function call(target: object, method: string, args: readonly unknown[]): unknown {
  return (target as Record<string, Method>)[method]!(...args);
}

function buffersIn(values: readonly unknown[]): ArrayBuffer[] {
  return values.filter((value) => value instanceof ArrayBuffer);
}

function methodsBy(methodOf: (name: string) => Method): object {
  return new Proxy(
    {},
    {
      // A promise that resolves with it asks whether it is one: it is not.
      get: (_, name) => (typeof name === 'symbol' || name === 'then' ? undefined : methodOf(name)),
    },
  );
}
