// The port to the witnesses: sends a checkpoint, and returns the response of each.

import type { WitnessPolicy } from '@tallystick/evidence';

export interface WitnessRequest {
  /** The checkpoint, signed by the log. */
  readonly note: string;
  /** The consistency proof from a smaller size, above 0, to that of the checkpoint. */
  readonly prove: (oldSize: number) => Promise<readonly Uint8Array[]>;
  readonly policy: WitnessPolicy;
  /** The last known size of each witness, kept between calls. */
  readonly sizes: Map<string, number>;
  /** Aborted: a witness that has not answered by now does not count. */
  readonly signal: AbortSignal;
}

/**
 * Asks every witness of the policy that has an address. Rejects only for a note that is no checkpoint, or that has a
 * cosignature of a witness which does not verify.
 */
export type AskWitnesses = (asking: WitnessRequest) => Promise<WitnessResponses>;

export interface WitnessResponses {
  /** With all cosignatures that have verified, in an order that does not depend on arrival. */
  readonly note: string;
  readonly isQuorum: boolean;
  readonly reports: readonly WitnessResponse[];
}

export interface WitnessResponse {
  /** Its name in the policy. */
  readonly witness: string;
  readonly outcome:
    | 'Cosigned'
    /** It says that it has a larger log: ours was rolled back, or somebody else signs for it. An alarm. */
    | 'Ahead'
    /** It says that ours does not extend what it cosigned: a fork, or a wrong proof. An alarm. */
    | 'Inconsistent'
    /** It answered, and not with a cosignature. */
    | 'Refused'
    /** It gave an answer that cannot be used. */
    | 'Failed'
    /** It gave none: there was no connection, or nothing came in time. */
    | 'Unreachable'
    /** The policy has no address for it. */
    | 'NotAsked';
  /** For people. */
  readonly message: string;
  readonly status?: number;
  /** Of a cosignature. */
  readonly timeSeconds?: number;
  /** The size that it says it has, where that is not what we thought. */
  readonly size?: number;
}

export function isAlarm({ outcome }: Pick<WitnessResponse, 'outcome'>): boolean {
  return outcome === 'Ahead' || outcome === 'Inconsistent';
}
