// A change that is sent again if its answer is lost: by the Idempotency-Key it is done once.

import { NoAnswer } from './fetch-bytes.ts';

export interface Change {
  readonly idempotencyKey: string;
  readonly wait: (ms: number) => Promise<void>;
}

/** Before each retry. */
const PAUSES_MS = [500, 2000];

export async function retried<T>(
  { idempotencyKey, wait }: Change,
  ask: (headers: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await ask({ 'idempotency-key': idempotencyKey });
    } catch (error) {
      if (!mayPass(error)) throw error;
      await wait(pauseMs);
    }
  }
  return ask({ 'idempotency-key': idempotencyKey });
}

/** There was no complete answer, or one that asks to try again. */
function mayPass(error: unknown): boolean {
  return error instanceof NoAnswer && [undefined, 503, 504].includes(error.status);
}
