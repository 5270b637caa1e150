// The port to the witnesses: a checkpoint goes out, and the answer of each comes back.

import type { WitnessPolicy } from '@tallystick/evidence';

/** Asks every witness of the policy that has an address. Rejects only for a note that cannot be submitted. */
export type AskWitnesses = (asking: {
  readonly note: string;
  readonly prove: (oldSize: number) => Promise<readonly Uint8Array[]>;
  readonly policy: WitnessPolicy;
  /** What each witness had last, from one call to the next. */
  readonly sizes: Map<string, number>;
  readonly signal: AbortSignal;
}) => Promise<WitnessResponses>;

export interface WitnessResponses {
  /** With the cosignatures that were had and have verified. */
  readonly note: string;
  readonly isQuorum: boolean;
  readonly reports: readonly WitnessResponse[];
}

export interface WitnessResponse {
  readonly witness: string;
  /** Failed: it answered, and not in a way that can be used. Unreachable: it did not answer. */
  readonly outcome: 'Cosigned' | 'Ahead' | 'Inconsistent' | 'Refused' | 'Failed' | 'Unreachable' | 'NotAsked';
  readonly message: string;
}
