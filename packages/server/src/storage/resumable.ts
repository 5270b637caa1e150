// Store logic that is written once for synchronous and asynchronous backends: a generator yields each promise that it
// has to wait for and resumes with its result. On SQLite it never has to wait.

import { ok as assert } from 'node:assert/strict';

export type Awaitable<T> = T | Promise<T>;

/** Yields promises to wait for, and its progress if it reports any. */
export type Resumable<T, Progress = never> = Generator<Promise<unknown> | Progress, T, unknown>;

export function* awaited<T>(answer: Awaitable<T>): Resumable<T> {
  return answer instanceof Promise ? ((yield answer) as T) : answer;
}

/** Runs it on a synchronous store. */
export function runSync<T>(steps: Resumable<T>): T {
  const step = steps.next();
  assert(step.done === true, 'the store answers at once');
  return step.value;
}

export async function runAsync<T, Progress>(
  steps: Resumable<T, Progress>,
  onProgress: (progress: Progress) => void = () => {},
): Promise<T> {
  let step = steps.next();
  while (step.done !== true) {
    if (step.value instanceof Promise) step = await resume(steps, step.value);
    else {
      onProgress(step.value);
      step = steps.next();
    }
  }
  return step.value;
}

/** A rejection is thrown where the generator yielded the promise. */
async function resume<T, Progress>(steps: Resumable<T, Progress>, promise: Promise<unknown>) {
  let answer: unknown;
  try {
    answer = await promise;
  } catch (error) {
    return steps.throw(error);
  }
  return steps.next(answer);
}
