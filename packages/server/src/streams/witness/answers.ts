// The port to the witnesses: sends a checkpoint, and returns the response of each.

import type { WitnessPolicy } from '@tallystick/evidence';

/** Asks every witness of the policy that has an address. Rejects only for a note that cannot be submitted. */
export type AskWitnesses = (asking: {
  readonly note: string;
  readonly prove: (oldSize: number) => Promise<readonly Uint8Array[]>;
  readonly policy: WitnessPolicy;
  /** The last known size of each witness, kept between calls. */
  readonly sizes: Map<string, number>;
  readonly signal: AbortSignal;
}) => Promise<WitnessResponses>;

export interface WitnessResponses {
  /** Includes the cosignatures that were received and verified. */
  readonly note: string;
  readonly isQuorum: boolean;
  readonly reports: readonly WitnessResponse[];
}

export interface WitnessResponse {
  readonly witness: string;
  /** Failed: it gave an unusable response. Unreachable: it did not respond. */
  readonly outcome: 'Cosigned' | 'Ahead' | 'Inconsistent' | 'Refused' | 'Failed' | 'Unreachable' | 'NotAsked';
  readonly message: string;
}
