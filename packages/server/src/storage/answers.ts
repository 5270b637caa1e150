// What is read of a store and decided, written once for stores that answer at once and for those that answer later: a
// generator gives whatever it has to wait for, and goes on with what comes of it. On SQLite it never has to.

import { ok as assert } from 'node:assert/strict';

export type Awaitable<T> = T | Promise<T>;

/** Gives promises, which are to be waited for, and how far it has come, where it says so. */
export type Resumable<T, Progress = never> = Generator<Promise<unknown> | Progress, T, unknown>;

export function* awaited<T>(answer: Awaitable<T>): Resumable<T> {
  return answer instanceof Promise ? ((yield answer) as T) : answer;
}

/** Of a store that answers at once. */
export function runSync<T>(asking: Resumable<T>): T {
  const step = asking.next();
  assert(step.done === true, 'the store answers at once');
  return step.value;
}

export async function runAsync<T, Progress>(
  asking: Resumable<T, Progress>,
  onProgress: (progress: Progress) => void = () => {},
): Promise<T> {
  let step = asking.next();
  while (step.done !== true) {
    if (step.value instanceof Promise) step = await goOn(asking, step.value);
    else {
      onProgress(step.value);
      step = asking.next();
    }
  }
  return step.value;
}

/** What could not be answered is thrown where it was asked for. */
async function goOn<T, Progress>(asking: Resumable<T, Progress>, promise: Promise<unknown>) {
  let answer: unknown;
  try {
    answer = await promise;
  } catch (error) {
    return asking.throw(error);
  }
  return asking.next(answer);
}
