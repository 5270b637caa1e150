// A head that is remembered outside the store: the log had this root at this size.

import { equalBytes } from '@tallystick/evidence';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';

export interface RememberedHead extends AnchoredHead {
  /** Remembered by the anchor, or by the caller. */
  readonly how: 'anchored' | 'seen';
  /** False: it may be newer than the state that is verified. */
  readonly mustBeReached: boolean;
}

export function isSameHead(one: AnchoredHead, other: AnchoredHead): boolean {
  return one.origin === other.origin && one.size === other.size && equalBytes(one.root, other.root);
}
