// SHA-256 of short messages: one call of node:crypto each, one call of ours each, a pool of a thousand, and as
// the ceiling node:crypto over one buffer of as many blocks, where no call is paid for.

import { hash } from 'node:crypto';
import { HashPool } from '../packages/evidence/src/hash/hash-pool.ts';
import { sha256 } from '../packages/evidence/src/hash/sha256.ts';
import { takeTurns, type Benchmark, type Measured, type Row } from './measure.ts';

const SIZES_BYTES = [32, 64, 117, 256, 1024];
const MESSAGES = 1000;
const REPEATS = 4;
const ROUNDS = 60;
const CRYPTO = 'crypto.hash, one call each';

export const benchmark: Benchmark = {
  name: 'sha256',
  title: `SHA-256 of ${MESSAGES} messages of one size`,
  run: async () => {
    const rows: Row[] = [];
    for (const bytes of SIZES_BYTES) rows.push(...(await measureSize(bytes)));
    return rows;
  },
};

async function measureSize(bytes: number): Promise<Row[]> {
  const messages = Array.from({ length: MESSAGES }, (_, i) => new Uint8Array(bytes).fill(i));
  const contiguous = new Uint8Array(MESSAGES * Math.ceil((bytes + 9) / 64) * 64);
  const pool = new HashPool();
  const repeated = (work: () => void) => () => {
    for (let i = 0; i < REPEATS; i++) work();
    return REPEATS * MESSAGES;
  };
  const measured = await takeTurns(
    [
      { name: CRYPTO, run: repeated(() => messages.forEach((message) => hash('sha256', message, 'buffer'))) },
      { name: 'sha256, one call each', run: repeated(() => messages.forEach((message) => sha256(message))) },
      { name: 'HashPool, one run', run: repeated(() => fillAndRun(pool, messages)) },
      { name: 'crypto.hash over one buffer', run: repeated(() => hash('sha256', contiguous, 'buffer')) },
    ],
    ROUNDS,
  );
  return measured.map((one) => rowOf(one, bytes, measured[0]!));
}

/** Copying the message in is part of the work, as it is of the other calls. */
function fillAndRun(pool: HashPool, messages: readonly Uint8Array[]): void {
  pool.reset();
  let to = pool.room(32 * messages.length);
  for (const message of messages) {
    const at = pool.room(message.length);
    pool.bytes.set(message, at);
    pool.hash(at, message.length, to);
    to += 32;
  }
  pool.run();
}

function rowOf({ name, unitsPerSecond }: Measured, bytes: number, crypto: Measured): Row {
  const ns = (1e9 / unitsPerSecond).toFixed(0);
  const megabytes = ((unitsPerSecond * bytes) / 1e6).toFixed(0);
  return {
    name: `${bytes} B: ${name}`,
    figure: `${ns} ns, ${megabytes} MB/s`,
    ...(name === CRYPTO ? {} : { against: CRYPTO, ratio: unitsPerSecond / crypto.unitsPerSecond }),
  };
}
