// The index thread: makes segments, over connections of its own. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { serveThread } from '../../../runtime/thread.ts';
import { answerMaker, type MakerMessage } from '../../event-index/store/index-messages.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { HeldShares, type Leases } from '../nodes/held-shares.ts';
import { makingOver } from './event-index.ts';

export interface IndexData {
  readonly connecting: Omit<DatabaseOptions, 'onTrouble'>;
  readonly sealing: SealingData;
  /** Nodes divide the logs among themselves: none is this node's until it is said. */
  readonly areDivided: boolean;
}

export interface HeldMessage {
  readonly verb: 'Held';
  readonly leases: Leases;
  readonly remainingNs: number;
}

const { connecting, sealing: data, areDivided } = workerData as IndexData;
const sealing = sealingWith(data);
const clock = systemClock;
const random = createSystemRandom();
const nextId = createUlids(clock, random);
const database = new Database(connecting);
const held = areDivided ? HeldShares.none(() => clock.monotonicNs()) : HeldShares.all();
const { maker, upkeep, store } = makingOver({ database, clock, random, nextId, held, sealing });

serveThread<MakerMessage | HeldMessage>({
  async answer(message) {
    if (message.verb === 'Held') return { value: held.setFor(message.leases, message.remainingNs) };
    return answerMaker({ maker, upkeep, isBuilding: () => store.isBuilding() }, message);
  },
  async stop() {
    await maker.stop();
    sealing[Symbol.dispose]();
    await database[Symbol.asyncDispose]();
  },
});
