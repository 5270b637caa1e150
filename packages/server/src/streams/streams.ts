// The operations on streams and on the log as a whole, put together from what they need.

import type { Call } from '../call.ts';
import { createCheckpointOperations, type CheckpointParts } from './checkpoints.ts';
import { createLogFiles } from './log-files.ts';
import { refusedLog } from './refused-log.ts';
import { createVerifications, type VerificationParts } from './verifications.ts';
import { createStreamOperations, type StreamParts } from './stream-operations.ts';

export type StreamsParts = CheckpointParts & Omit<StreamParts, 'requireSound'> & VerificationParts;

/** To be disposed before what it reads from. */
export function createStreams(parts: StreamsParts) {
  const requireSound = ({ tenant }: Call) => {
    const refusal = parts.checkpointer.refusalOf(tenant!);
    if (refusal !== undefined) throw refusedLog(tenant!, refusal);
  };
  const verifications = createVerifications(parts);
  const operations = {
    ...createStreamOperations({ ...parts, requireSound }),
    ...createCheckpointOperations(parts),
    ...createLogFiles(parts),
    ...verifications.operations,
  };
  return { operations, [Symbol.asyncDispose]: () => verifications[Symbol.asyncDispose]() };
}
