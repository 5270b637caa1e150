// The content of an event as its proof shows it: what is there open, and what notices say is deleted closed.

import {
  byTag,
  type ClosedUnit,
  openTexts,
  type ShownEvent,
  type ShownGroup,
  tagOf,
} from '@tallystick/evidence';
import type { DeletedUnitEvidence, OpenContent } from './tree.ts';

export function showContent({ texts, salts, deleted }: OpenContent): ShownEvent {
  const shown = openTexts(texts, salts);
  if (deleted === undefined) return shown;
  return [withDeleted(shown[0], deleted[0]), withDeleted(shown[1], deleted[1])];
}

function withDeleted(group: ShownGroup, deleted: readonly DeletedUnitEvidence[]): ShownGroup {
  if (deleted.length === 0 || !('units' in group)) return group;
  const closed = deleted.map(({ path, commitment }): ClosedUnit => ({ tag: tagOf(path), commitment }));
  return { units: byTag([...group.units, ...closed]) };
}
