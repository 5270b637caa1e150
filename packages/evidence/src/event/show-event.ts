// Makers of what is shown: an event divided into open units, single units closed, a group shown by its root.
// Whatever is done here leaves the content hash as it was (content-pool.ts).

import { commitmentOf, groupRootOf } from './content-pool.ts';
import { byTag, isOpen, type OpenUnit, type ShownEvent, type ShownGroup } from './shown-event.ts';
import { groupOf, tagOf, unitsOf } from './units.ts';

/** Divides an event into units, all open. Salts must be unpredictable, one for each path. */
export function openEvent(
  event: Readonly<Record<string, unknown>>,
  saltOf: (path: string) => Uint8Array,
): ShownEvent {
  const groups: [OpenUnit[], OpenUnit[]] = [[], []];
  for (const { path, value } of unitsOf(event)) {
    groups[groupOf(path) - 1]!.push({ tag: tagOf(path), path, value, salt: saltOf(path) });
  }
  return [{ units: byTag(groups[0]) }, { units: byTag(groups[1]) }];
}

/** Closes those of the open units for which `isClosed` says so. */
export function closeUnits(shown: ShownEvent, isClosed: (path: string) => boolean): ShownEvent {
  const close = (group: ShownGroup): ShownGroup => {
    if (!('units' in group)) return group;
    const units = group.units.map((unit) => {
      if (!isOpen(unit) || !isClosed(unit.path)) return unit;
      return { tag: unit.tag, commitment: commitmentOf(unit.salt, unit.value) };
    });
    return { units };
  };
  return [close(shown[0]), close(shown[1])];
}

/** Context and payload by their root alone: what a reader below the event's classification gets. */
export function withholdContent(shown: ShownEvent): ShownEvent {
  return [shown[0], { root: groupRootOf(2, shown[1]) }];
}

/** Both groups by their roots: all that is left of an event whose content is deleted. */
export function showRoots(shown: ShownEvent): ShownEvent {
  return [{ root: groupRootOf(1, shown[0]) }, { root: groupRootOf(2, shown[1]) }];
}
