// The writer thread: makes commitments and appends, over connections of its own, so that whoever answers requests does
// neither. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { OnHeld, StreamLimits } from '../../../streams/log.ts';
import { decodePool } from '../../pool/append-message.ts';
import { encodeResults } from '../../pool/append-results.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import type { HeldPool } from '../../pool/send-pools.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { HeldShares } from '../nodes/held-shares.ts';
import { Journal } from './journal.ts';

export interface WriterData {
  readonly connecting: Omit<DatabaseOptions, 'onTrouble'>;
  readonly logOrigin: string;
  readonly streams: StreamLimits;
  /** Nodes divide the logs among themselves: none is this node's until it is said. */
  readonly areDivided: boolean;
}

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

const pools = {
  /** All results, or those that are decided while others wait. */
  async append(room: ArrayBuffer): Promise<ArrayBuffer | HeldPool> {
    const pool = decodePool(room);
    const { promise: held, resolve: onHeld } = Promise.withResolvers<Parameters<OnHeld>[0]>();
    // Commitments are made while the pool before is still being committed.
    const whole = journal
      .append(pool, committer.make(pool.requests), onHeld)
      .then((results) => encodeResults(results, room));
    const first = await Promise.race([whole, held]);
    if (first instanceof ArrayBuffer) return first;
    const ticket = ++tickets;
    waiting.set(ticket, whole);
    // It is asked for in a moment: until then nobody listens.
    whole.catch(() => {});
    const decided = encodeResults([...first.values()], new ArrayBuffer(DECIDED_BYTES));
    return { ticket, places: [...first.keys()], decided };
  },
  rest: (ticket: number): Promise<ArrayBuffer> => waiting.get(ticket)!.finally(() => waiting.delete(ticket)),
};
export type Pools = typeof pools;

serveCalls({ pools, journal, held }, () => database[Symbol.asyncDispose]());
