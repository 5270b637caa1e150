// The writer thread: makes commitments and appends, over its own connections, so that the main thread does neither.
// Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { OnLocked, StreamLimits } from '../../../streams/log.ts';
import { decodePool } from '../../pool/append-message.ts';
import { encodeResults } from '../../pool/append-results.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import type { HeldPool } from '../../pool/send-pools.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { HeldShares } from '../nodes/held-shares.ts';
import { Journal } from './journal.ts';

export interface WriterData {
  readonly connecting: Omit<DatabaseOptions, 'onTrouble'>;
  readonly logOrigin: string;
  readonly streams: StreamLimits;
  readonly sealing: SealingData;
  /** Nodes divide the logs: this node has none until it is told. */
  readonly areDivided: boolean;
}

/** Grows on demand. */
const DECIDED_BYTES = 4096;

const { connecting, logOrigin, streams, sealing: data, areDivided } = workerData as WriterData;
const clock = systemClock;
const random = createSystemRandom();
const nextId = createUlids(clock, random);
const committer = new PoolCommitter(random);
const database = new Database(connecting);
const held = areDivided ? HeldShares.none(() => clock.monotonicNs()) : HeldShares.all();
const sealing = sealingWith(data);
const { ring } = sealing;
const sealer = sealing.newSealer();
const own = { clock, random, nextId, held, committer, ring, sealer };
const journal = new Journal(database, { logOrigin, streams, ...own });

/** Pools that partly wait for locked logs, until all of their requests are decided. */
const waiting = new Map<number, Promise<ArrayBuffer>>();
let tickets = 0;

const pools = {
  /** Returns all results, or the decided ones while others wait. */
  async append(room: ArrayBuffer): Promise<ArrayBuffer | HeldPool> {
    const pool = decodePool(room);
    const { promise: held, resolve: onLocked } = Promise.withResolvers<Parameters<OnLocked>[0]>();
    // Commitments are made while the previous pool is still being committed.
    const whole = journal
      .append(pool, committer.make(pool.requests), onLocked)
      .then((results) => encodeResults(results, room));
    const first = await Promise.race([whole, held]);
    if (first instanceof ArrayBuffer) return first;
    const ticket = ++tickets;
    waiting.set(ticket, whole);
    // The result is requested a moment later: an earlier rejection must not be unhandled.
    whole.catch(() => {});
    const decided = encodeResults([...first.values()], new ArrayBuffer(DECIDED_BYTES));
    return { ticket, places: [...first.keys()], decided };
  },
  rest: (ticket: number): Promise<ArrayBuffer> => waiting.get(ticket)!.finally(() => waiting.delete(ticket)),
};
export type Pools = typeof pools;

serveCalls({ pools, journal, held }, () => {
  sealing[Symbol.dispose]();
  return database[Symbol.asyncDispose]();
});
