// The writer thread: owns the service's only connection that writes to journal.db. Entry of a worker.

import { type MessagePort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../runtime/calls.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { StreamLimits } from '../../../streams/log.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import { JournalOwner } from '../append/journal-owner.ts';

export interface WriterData {
  readonly directory: string;
  readonly logOrigin: string;
  readonly streams: StreamLimits;
  /** Receives pools whose commitments are already made. */
  readonly fromCommitments: MessagePort;
}

const { directory, logOrigin, streams, fromCommitments } = workerData as WriterData;
const clock = systemClock;
const random = createSystemRandom();
const committer = new PoolCommitter(random);
const nextId = createUlids(clock, random);
const owner = new JournalOwner({ directory, logOrigin, streams, clock, nextId, random, committer });

serveCalls({ owner }, () => owner[Symbol.dispose](), fromCommitments);
