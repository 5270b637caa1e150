// The writer thread: owns the service's only connection that writes to journal.db. Entry of a worker.

import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { StreamLimits } from '../../../streams/log.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import { JournalOwner } from '../append/journal-owner.ts';

export interface WriterData {
  readonly directory: string;
  readonly logOrigin: string;
  readonly streams: StreamLimits;
  readonly sealing: SealingData;
  /** Receives pools whose commitments are already made; the keys to seal with go back. */
  readonly fromCommitments: MessagePort;
}

const { directory, logOrigin, streams, sealing: data, fromCommitments } = workerData as WriterData;
const clock = systemClock;
const random = createSystemRandom();
const committer = new PoolCommitter(random);
const nextId = createUlids(clock, random);
const sealing = sealingWith(data);
const { ring, rows: sealed } = sealing;
const sealer = sealing.newSealer({
  nonces: 'FirstHalf',
  handOn: (key) => fromCommitments.postMessage(key, []),
});
const owner = new JournalOwner({
  directory,
  logOrigin,
  streams,
  clock,
  nextId,
  random,
  committer,
  ring,
  sealed,
  sealer,
});

serveCalls(
  { owner },
  () => {
    owner[Symbol.dispose]();
    sealing[Symbol.dispose]();
  },
  fromCommitments,
);
