// The writer thread: makes commitments and appends, over connections of its own, so that whoever answers requests does
// neither. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { systemClock } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import type { OnHeld, StreamLimits } from '../../streams/log.ts';
import { decodePool } from '../pool/append-message.ts';
import { encodeResults } from '../pool/append-results.ts';
import { PoolCommitter } from '../pool/pool-commitments.ts';
import type { HeldPool, LogWriterMessage } from '../pool/writer-messages.ts';
import { serveThread } from '../../runtime/thread.ts';
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
  | { readonly verb: 'Rest'; readonly ticket: number }
  | { readonly verb: 'Held'; readonly leases: Leases; readonly remainingNs: number };

/** It grows where that is not enough. */
const DECIDED_BYTES = 4096;

const { connecting, logOrigin, streams, areDivided } = workerData as WriterData;
const clock = systemClock;
const random = createSystemRandom();
const nextId = createUlids(clock, random);
const committer = new PoolCommitter(random);
const database = new Database(connecting);
const held = areDivided ? HeldShares.none(() => clock.monotonicNs()) : HeldShares.all();
const journal = new Journal(database, { logOrigin, streams, clock, random, nextId, held, committer });

/** Pools of which a part waits for logs that somebody else holds, until all of it is decided. */
const waiting = new Map<number, Promise<ArrayBuffer>>();
let tickets = 0;

/** All results, or those that are decided while others wait. */
async function append(room: ArrayBuffer) {
  const pool = decodePool(room);
  const { promise: held, resolve: onHeld } = Promise.withResolvers<Parameters<OnHeld>[0]>();
  // Commitments are made while the pool before is still being committed.
  const whole = journal
    .append(pool, committer.make(pool.requests), onHeld)
    .then((results) => encodeResults(results, room));
  const first = await Promise.race([whole, held]);
  if (first instanceof ArrayBuffer) return { value: first, handOver: [first] };
  const ticket = ++tickets;
  waiting.set(ticket, whole);
  // It is asked for in a moment: until then nobody listens.
  whole.catch(() => {});
  const decided = encodeResults([...first.values()], new ArrayBuffer(DECIDED_BYTES));
  const value: HeldPool = { ticket, places: [...first.keys()], decided };
  return { value, handOver: [decided] };
}

serveThread<WriterMessage>({
  async answer(message) {
    switch (message.verb) {
      case 'Append':
        return append(message.pool);
      case 'Rest': {
        const buffer = await waiting.get(message.ticket)!.finally(() => waiting.delete(message.ticket));
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
