// Randomness, handed in. The system's source is cryptographic throughout, so every use of it is safe.

import { randomFillSync, randomUUID } from 'node:crypto';

export interface Random {
  /** Fresh random bytes that nobody else holds. */
  bytes(count: number): Uint8Array;
  /** A UUID, version 4. */
  uuid(): string;
  /** A number from 0 up to, but not including, 1. */
  fraction(): number;
}

/** Small requests are cut from a pool, because one call to the system costs far more than sixteen bytes. */
const POOL_BYTES = 4096;

export function createSystemRandom(): Random {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;

  const bytes = (count: number): Uint8Array => {
    if (count > POOL_BYTES) return randomFillSync(new Uint8Array(count));
    if (used + count > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const cut = pool.slice(used, used + count);
    pool.fill(0, used, used + count);
    used += count;
    return cut;
  };

  return {
    bytes,
    uuid: () => randomUUID(),
    fraction() {
      const [a, b, c, d] = bytes(4);
      return (a! * 2 ** 24 + b! * 2 ** 16 + c! * 2 ** 8 + d!) / 2 ** 32;
    },
  };
}
