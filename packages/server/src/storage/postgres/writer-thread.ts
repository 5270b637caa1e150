// The writer thread: makes commitments and appends, over connections of its own, so that whoever answers requests does
// neither. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { systemClock } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import type { StreamLimits } from '../../streams/log.ts';
import { decodePool } from '../pool/append-message.ts';
import { encodeResults } from '../pool/append-results.ts';
import { PoolCommitter } from '../pool/pool-commitments.ts';
import type { LogWriterMessage } from '../pool/writer-messages.ts';
import { serveThread } from '../thread.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { HeldShares, type Leases } from './held-shares.ts';
import { Journal } from './journal.ts';

export interface WriterData {
  readonly connecting: Omit<DatabaseOptions, 'onTrouble'>;
  readonly logOrigin: string;
  readonly streams: StreamLimits;
  /** Nodes divide the logs among themselves: none is this node's until it is said. */
  readonly areDivided: boolean;
}

export type WriterMessage =
  | LogWriterMessage
  | { readonly verb: 'Held'; readonly leases: Leases; readonly remainingNs: number };

const { connecting, logOrigin, streams, areDivided } = workerData as WriterData;
const clock = systemClock;
const random = createSystemRandom();
const nextId = createUlids(clock, random);
const committer = new PoolCommitter(random);
const database = new Database(connecting);
const held = areDivided ? HeldShares.none(() => clock.monotonicNs()) : HeldShares.all();
const journal = new Journal(database, { logOrigin, streams, clock, random, nextId, held, committer });

serveThread<WriterMessage>({
  async answer(message) {
    switch (message.verb) {
      case 'Append': {
        const pool = decodePool(message.pool);
        // Made while the pool before is still being committed.
        const results = await journal.append(pool, committer.make(pool.requests));
        const buffer = encodeResults(results, message.pool);
        return { value: buffer, handOver: [buffer] };
      }
      case 'Seal':
        return { value: await journal.seal(message.request, message.now) };
      case 'BeginEpoch':
        return { value: await journal.beginEpoch(message.request, message.now) };
      case 'SealAged':
        return { value: await journal.sealAged(message.now, message.except) };
      case 'SweepUsedKeys':
        return { value: await journal.sweepUsedKeys(message.steadyNowMs) };
      case 'Probe':
        return { value: await journal.probe() };
      case 'Held':
        return { value: held.setFor(message.leases, message.remainingNs) };
    }
  },
  stop: () => database[Symbol.asyncDispose](),
});
