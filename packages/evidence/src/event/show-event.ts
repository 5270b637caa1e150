// Makers of what is shown: an event divided into open units, single units closed, a group shown by its root.
// Whatever is done here leaves the content hash as it was (content-pool.ts).

import { EvidenceError } from '../errors.ts';
import { parseJson } from '../json/parse-json.ts';
import { commitmentOf, groupRootOf } from './content-pool.ts';
import { byTag, isOpen, type OpenUnit, SALT_BYTES, type ShownEvent, type ShownGroup } from './shown-event.ts';
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

/**
 * The same from what a store keeps: the RFC 8785 texts of both groups, and for each group the salts of its units one
 * behind the other, in the order of their tags.
 */
export function openTexts(
  texts: readonly [string, string],
  salts: readonly [Uint8Array, Uint8Array],
): ShownEvent {
  const open = (group: 0 | 1): ShownGroup => {
    const units = unitsOf(parseJson(texts[group]) as Readonly<Record<string, unknown>>);
    const sorted = byTag(units.map((unit) => ({ ...unit, tag: tagOf(unit.path), salt: NO_SALT })));
    if (salts[group].length !== sorted.length * SALT_BYTES) {
      throw new EvidenceError(
        'MALFORMED',
        `${sorted.length} units have ${salts[group].length} bytes of salt`,
      );
    }
    return { units: sorted.map((unit, i) => ({ ...unit, salt: saltAt(salts[group], i) })) };
  };
  return [open(0), open(1)];
}

const NO_SALT = new Uint8Array();

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
