// Composes the operations on streams and on the log as a whole.

import { createCheckpointOperations, type CheckpointParts } from './checkpoints/checkpoints.ts';
import { createLogFiles } from './checkpoints/log-files.ts';
import { createVerifications, type VerificationParts } from './verification/verifications.ts';
import { createStreamOperations, type StreamOperationParts } from './stream-operations.ts';

export type StreamsParts = CheckpointParts & StreamOperationParts & VerificationParts;

export function createStreams(parts: StreamsParts) {
  return {
    ...createStreamOperations(parts),
    ...createCheckpointOperations(parts),
    ...createLogFiles(parts),
    ...createVerifications(parts),
  };
}
