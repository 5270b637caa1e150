// Why an export cannot be made, as its requester is told.

import type { ExportFailureReason } from '@tallystick/contract';

/** It cannot be made, or not now. */
export class ExportFailure extends Error {
  readonly reason: ExportFailureReason;
  readonly isRetriable: boolean;

  constructor(reason: ExportFailureReason, details: string, isRetriable: boolean) {
    super(details);
    this.reason = reason;
    this.isRetriable = isRetriable;
  }
}

/** `index`: of an event of the snapshot. */
export function removedSince(index: number): ExportFailure {
  return new ExportFailure(
    'RetentionPurged',
    `The content of event ${index + 1} was removed since the export was asked for. A retry exports what is there now.`,
    true,
  );
}
