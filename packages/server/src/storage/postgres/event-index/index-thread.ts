// The index thread: brings the views after the log, over connections of its own. Entry of a worker.

import { workerData } from 'node:worker_threads';
import type { TenantId } from '@tallystick/contract';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { serveThread } from '../../../runtime/thread.ts';
import { Database, type DatabaseOptions } from '../connection/database.ts';
import { HeldShares, type Leases } from '../nodes/held-shares.ts';
import { IndexFollower } from './follower.ts';

export interface IndexData {
  readonly connecting: Omit<DatabaseOptions, 'onTrouble'>;
  /** Nodes divide the logs among themselves: none is this node's until it is said. */
  readonly areDivided: boolean;
}

export type IndexMessage =
  | { readonly verb: 'Turn' }
  | { readonly verb: 'Build'; readonly tenant: TenantId }
  | { readonly verb: 'IndexAgain'; readonly tenant: TenantId; readonly index: number }
  | { readonly verb: 'Held'; readonly leases: Leases; readonly remainingNs: number };

const { connecting, areDivided } = workerData as IndexData;
const clock = systemClock;
const nextId = createUlids(clock, createSystemRandom());
const database = new Database(connecting);
const held = areDivided ? HeldShares.none(() => clock.monotonicNs()) : HeldShares.all();
const follower = new IndexFollower({ database, nextId, held });

serveThread<IndexMessage>({
  async answer(message) {
    switch (message.verb) {
      case 'Turn':
        return { value: await follower.turn() };
      case 'Build':
        return { value: await follower.build(message.tenant) };
      case 'IndexAgain':
        return { value: await follower.indexAgain(message.tenant, message.index) };
      case 'Held':
        return { value: held.setFor(message.leases, message.remainingNs) };
    }
  },
  stop: () => database[Symbol.asyncDispose](),
});
