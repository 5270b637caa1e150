// The writer thread: owns the one connection of the service that writes to journal.db. Entry of a worker.

import { type MessagePort, workerData } from 'node:worker_threads';
import { systemClock } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import type { StreamLimits } from '../../streams/log.ts';
import type { CosignedCheckpoint, PublishedLog } from '../../streams/tree.ts';
import type { AccessWrite } from './access.ts';
import { decodePool } from '../pool/append-message.ts';
import { encodeResults } from '../pool/append-results.ts';
import { JournalOwner } from './journal-owner.ts';
import { type PoolCommitments, PoolCommitter } from '../pool/pool-commitments.ts';
import type { LogWriterMessage } from '../pool/writer-messages.ts';
import { serveThread, type ThreadWork } from '../../runtime/thread.ts';

export interface WriterData {
  readonly directory: string;
  readonly logOrigin: string;
  readonly streams: StreamLimits;
  /** Where pools arrive whose commitments are made already. */
  readonly fromCommitments: MessagePort;
}

export type WriterMessage =
  | LogWriterMessage
  | { readonly verb: 'Access'; readonly change: AccessWrite }
  | { readonly verb: 'Publish'; readonly logs: readonly PublishedLog[]; readonly nowMs: number }
  | { readonly verb: 'Cosign'; readonly checkpoints: readonly CosignedCheckpoint[] };

const { directory, logOrigin, streams, fromCommitments } = workerData as WriterData;
const random = createSystemRandom();
const committer = new PoolCommitter(random);
const nextId = createUlids(systemClock, random);
const clock = systemClock;
const owner = new JournalOwner({ directory, logOrigin, streams, clock, nextId, random, committer });

function append(message: ArrayBuffer, commitments?: PoolCommitments): ArrayBuffer {
  const pool = decodePool(message);
  return encodeResults(owner.append(pool, commitments ?? committer.make(pool.requests)), message);
}

const work: ThreadWork<WriterMessage> = {
  answer(message) {
    // Only once the answer is on its way.
    setImmediate(() => owner.rest());
    switch (message.verb) {
      case 'Append': {
        const results = append(message.pool, message.commitments);
        return { value: results, handOver: [results] };
      }
      case 'Seal':
        return { value: owner.seal(message.request, message.now) };
      case 'BeginEpoch':
        return { value: owner.beginEpoch(message.request, message.now) };
      case 'SealAged':
        return { value: owner.sealAged(message.now, message.except) };
      case 'Access':
        return { value: owner.writeAccess(message.change) };
      case 'Publish':
        return { value: owner.publish(message.logs, message.nowMs) };
      case 'Cosign':
        return { value: owner.cosign(message.checkpoints) };
      case 'SweepUsedKeys':
        return { value: owner.sweepUsedKeys(message.steadyNowMs) };
      case 'Probe':
        return { value: owner.probe() };
    }
  },
  stop: () => owner[Symbol.dispose](),
};
serveThread(work, fromCommitments);
