// The commitments thread: makes the commitments of large pools, seals their contents with the keys that the writer has, and
// passes both to the writer, which writes another pool meanwhile. Entry of a worker.

import { type MessagePort, workerData } from 'node:worker_threads';
import { createSystemRandom } from '../../../runtime/random.ts';
import { decodePool } from '../../pool/append-message.ts';
import { type PoolCommitments, PoolCommitter } from '../../pool/pool-commitments.ts';
import { SealerAhead } from '../../sealing/boxes-ahead.ts';
import { type ContentKey, PoolSealer } from '../../sealing/pool-sealer.ts';
import type { CallMessage } from '../../../runtime/calls.ts';
import { ownBuffers, serveThread } from '../../../runtime/thread.ts';

export interface CommitmentsData {
  readonly toWriter: MessagePort;
  /** Bits of the classifications whose content is sealed. */
  readonly sealed: number;
}

export interface CommitmentsMessage {
  readonly pool: ArrayBuffer;
}

const { toWriter, sealed } = workerData as CommitmentsData;
const committer = new PoolCommitter(createSystemRandom());
const sealer = new PoolSealer(sealed, { nonces: 'SecondHalf' });
const ahead = sealed === 0 ? undefined : new SealerAhead(sealer);

toWriter.on('message', (key: ContentKey) => sealer.use(key));

serveThread<CommitmentsMessage>({
  answer({ pool }) {
    const appended = decodePool(pool);
    const made = committer.make(appended.requests);
    const boxes = ahead?.seal(appended, made);
    const commitments: PoolCommitments = { ...made, boxes };
    const message: CallMessage = { part: 'owner', method: 'append', args: [pool, commitments] };
    return { to: toWriter, message, handOver: [pool, ...ownBuffers(made.rows, boxes?.bytes)] };
  },
  stop: () => toWriter.close(),
});
