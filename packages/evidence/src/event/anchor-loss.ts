// The act of kind 9 that accepts a lost anchor, as the verifier of a whole store reads it.

import { ANCHOR_LOSS_ACCEPTED, type AnchorLossMembers, type Notice } from './notices.ts';

/** From this size on the log is anchored again; nothing tells whether it was put back to an earlier state before. */
export interface AcceptedAnchorLoss extends AnchorLossMembers {
  /** Of the notice. */
  readonly index: number;
}

export function acceptedAnchorLoss({ index, payload }: Notice): AcceptedAnchorLoss | undefined {
  // No other kind has such an act.
  const { act, signedSize, signedRoot } = payload as AnchorLossMembers & { act?: string };
  return act === ANCHOR_LOSS_ACCEPTED ? { index, signedSize, signedRoot } : undefined;
}
