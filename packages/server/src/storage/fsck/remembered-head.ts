// A head that somebody remembers outside of the store: the log had this root when it had this size.

import { equalBytes } from '@tallystick/evidence';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';

export interface RememberedHead extends AnchoredHead {
  /** By the anchor, or by whoever asks. */
  readonly how: 'anchored' | 'seen';
  /** False: it may be of a later moment than the state that is looked at. */
  readonly mustBeReached: boolean;
}

export function isSameHead(one: AnchoredHead, other: AnchoredHead): boolean {
  return one.origin === other.origin && one.size === other.size && equalBytes(one.root, other.root);
}
