// The faults of a store verification: each has a reason of the closed list.

import { EvidenceError, type Reason } from '@tallystick/evidence';

/** Reasons of evidence, and one that is none: the log is whole, but lists and searches may not show all of it. */
export type StoreReason = Reason | 'INDEX_DIFFERS';

export interface StoreFault {
  /** Undefined for a fault of the whole store: the file, the schema, the anchor. */
  readonly tenant: string | undefined;
  /** In the tenant's log; after a restore, `message` says in which one. */
  readonly index: number | undefined;
  readonly reason: StoreReason;
  readonly message: string;
}

/** Faults of the store as a whole have no tenant. */
export function storeFault(
  tenant: string | undefined,
  { index, reason, message }: EvidenceError,
): StoreFault {
  return { tenant, index, reason, message };
}

export function fault(reason: Reason, message: string, index?: number): EvidenceError {
  return new EvidenceError(reason, message, { index });
}

/** The same fault with an index, if it has none yet. */
export function atIndex(error: EvidenceError, index: number): EvidenceError {
  if (error.index === index) return error;
  return new EvidenceError(error.reason, `entry ${index}: ${error.message}`, { index, cause: error });
}
