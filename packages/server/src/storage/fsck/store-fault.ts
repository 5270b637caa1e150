// What the verifier of a store says: each fault has a reason of the closed list.

import { EvidenceError, type Reason } from '@tallystick/evidence';

export interface StoreFault {
  /** Undefined where it is of no tenant: the file, the schema, the anchor. */
  readonly tenant: string | undefined;
  /** In the tenant's log; where the tenant went on after a restore, `message` says in which. */
  readonly index: number | undefined;
  readonly reason: Reason;
  readonly message: string;
}

/** Faults that are a part of the store as a whole are told under no tenant. */
export function storeFault(
  tenant: string | undefined,
  { index, reason, message }: EvidenceError,
): StoreFault {
  return { tenant, index, reason, message };
}

export function fault(reason: Reason, message: string, index?: number): EvidenceError {
  return new EvidenceError(reason, message, { index });
}

/** The same fault, at an index where it has none yet. */
export function atIndex(error: EvidenceError, index: number): EvidenceError {
  if (error.index === index) return error;
  return new EvidenceError(error.reason, `entry ${index}: ${error.message}`, { index, cause: error });
}
