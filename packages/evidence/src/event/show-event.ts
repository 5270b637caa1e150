// Makers of what is shown: an event divided into open units, single units closed, a group shown by its root.
// Whatever is done here leaves the content hash as it was (content-pool.ts).

import { textOf, utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { commitmentOf, groupRootOf } from './content-pool.ts';
import { byTag, isOpen, type OpenUnit, SALT_BYTES, type ShownEvent, type ShownGroup } from './shown-event.ts';
import { splitGroup } from './split-group.ts';
import { type Group, groupOf, tagOf, unitsOf } from './units.ts';

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

/**
 * The same from what a store keeps: the RFC 8785 texts of both groups, and for each group the salts of its units one
 * behind the other, in the order of their tags.
 */
export function openTexts(
  texts: readonly [string, string],
  salts: readonly [Uint8Array, Uint8Array],
): ShownEvent {
  const open = (group: Group): ShownGroup => {
    const bytes = utf8(texts[group - 1]!);
    const own = salts[group - 1]!;
    const { units } = splitGroup(bytes, group);
    if (own.length !== units.length * SALT_BYTES) {
      throw new EvidenceError('MALFORMED', `${units.length} units have ${own.length} bytes of salt`);
    }
    return {
      units: units.map(({ tag, path, from, to }, i) => {
        return { tag, path, value: textOf(bytes.subarray(from, to)), salt: saltAt(own, i) };
      }),
    };
  };
  return [open(1), open(2)];
}

function saltAt(salts: Uint8Array, place: number): Uint8Array {
  return salts.subarray(place * SALT_BYTES, (place + 1) * SALT_BYTES);
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
