// What is read of a store and decided, written once for stores that answer at once and for those that answer later: a
// generator gives whatever it has to wait for, and goes on with what comes of it. On SQLite it never has to.

import { ok as assert } from 'node:assert/strict';

export type Answer<T> = T | Promise<T>;

/** Gives promises, which are to be waited for, and how far it has come, where it says so. */
export type Asking<T, Progress = never> = Generator<Promise<unknown> | Progress, T, unknown>;

export function* answered<T>(answer: Answer<T>): Asking<T> {
  return answer instanceof Promise ? ((yield answer) as T) : answer;
}

/** Of a store that answers at once. */
export function atOnce<T>(asking: Asking<T>): T {
  const step = asking.next();
  assert(step.done === true, 'the store answers at once');
  return step.value;
}

export async function whenAnswered<T, Progress>(
  asking: Asking<T, Progress>,
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
async function goOn<T, Progress>(asking: Asking<T, Progress>, promise: Promise<unknown>) {
  let answer: unknown;
  try {
    answer = await promise;
  } catch (error) {
    return asking.throw(error);
  }
  return asking.next(answer);
}
