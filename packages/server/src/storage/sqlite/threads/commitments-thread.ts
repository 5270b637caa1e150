// The commitments thread: makes the commitments of large pools and passes them to the writer, which writes another pool
// meanwhile. Entry of a worker.

import { type MessagePort, workerData } from 'node:worker_threads';
import { createSystemRandom } from '../../../runtime/random.ts';
import { decodePool } from '../../pool/append-message.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import type { CallMessage } from '../../../runtime/calls.ts';
import { serveThread } from '../../../runtime/thread.ts';

export interface CommitmentsData {
  readonly toWriter: MessagePort;
}

export interface CommitmentsMessage {
  readonly pool: ArrayBuffer;
}

const { toWriter } = workerData as CommitmentsData;
const committer = new PoolCommitter(createSystemRandom());

serveThread<CommitmentsMessage>({
  answer({ pool }) {
    const commitments = committer.make(decodePool(pool).requests);
    const message: CallMessage = { part: 'owner', method: 'append', args: [pool, commitments] };
    return { to: toWriter, message, handOver: [pool, commitments.rows.buffer] };
  },
  stop: () => toWriter.close(),
});
