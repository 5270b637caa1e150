// From what is shown of an event to its content hash:
//
//   R_g     = H( label(r) ‖ u8 g ‖ u16 n ‖ T₁ ‖ C₁ ‖ … )    units of group g, T strictly ascending
//   content = H( label(c) ‖ R₁ ‖ R₂ )

import { utf8 } from '../bytes.ts';
import { sha256 } from '../hash/sha256.ts';
import { LABEL_COMMITMENT, LABEL_CONTENT, LABEL_GROUP } from './labels.ts';
import { isOpen, type ShownEvent, type ShownGroup } from './shown-event.ts';
import type { Group } from './units.ts';

/** The contents of many events. content-pool.ts has a faster way to the same result. */
export type ContentsOf = (events: readonly ShownEvent[]) => Uint8Array[];

export const contentsOf: ContentsOf = (events) => events.map(contentOf);

export function contentOf([first, second]: ShownEvent): Uint8Array {
  return sha256(LABEL_CONTENT, groupRootOf(1, first), groupRootOf(2, second));
}

export function groupRootOf(group: Group, shown: ShownGroup): Uint8Array {
  if ('root' in shown) return shown.root;
  const { length } = shown.units;
  const parts = [LABEL_GROUP, Uint8Array.of(group, length >>> 8, length)];
  for (const unit of shown.units)
    parts.push(unit.tag.bytes, isOpen(unit) ? commitmentOf(unit.salt, unit.value) : unit.commitment);
  return sha256(...parts);
}

/** C of one unit: what is shown in its place when it is closed. */
export function commitmentOf(salt: Uint8Array, value: string): Uint8Array {
  return sha256(LABEL_COMMITMENT, salt, utf8(value));
}
