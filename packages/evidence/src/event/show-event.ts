// Makers of what is shown: an event divided into open units, single units closed, a group shown by its root.
// Nothing here changes the content hash (content.ts).

import { textOf, toBase64, utf8 } from '../bytes.ts';
import { malformed } from '../errors.ts';
import { commitmentOf, groupRootOf } from './content.ts';
import {
  byTag,
  isOpen,
  type OpenUnit,
  SALT_BYTES,
  type ShownEvent,
  type ShownGroup,
  type ShownUnit,
} from './shown-event.ts';
import { escapeToken } from './encode-event.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { splitGroup } from './split-group.ts';
import { type Group, groupOf, isOpened, tagOf, type Unit } from './units.ts';

export function unitsOf(event: Readonly<Record<string, unknown>>): Unit[] {
  const units: Unit[] = [];
  for (const [field, value] of Object.entries(event)) {
    const path = `/${escapeToken(field)}`;
    if (!isOpened(value)) {
      units.push({ path, value: canonicalJson(value) });
      continue;
    }
    for (const [key, inner] of Object.entries(value)) {
      units.push({ path: `${path}/${escapeToken(key)}`, value: canonicalJson(inner) });
    }
  }
  return units;
}

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
 * behind the other, in the order of their tags. Of units that were deleted for good it keeps path and commitment.
 */
export function openTexts(
  texts: readonly [string, string],
  salts: readonly [Uint8Array, Uint8Array],
  deleted: readonly [readonly DeletedUnit[], readonly DeletedUnit[]] = [[], []],
): ShownEvent {
  const open = (group: Group): ShownGroup => {
    const bytes = utf8(texts[group - 1]!);
    const own = salts[group - 1]!;
    const { units } = splitGroup(bytes, group);
    if (own.length !== units.length * SALT_BYTES)
      throw malformed(`${units.length} units have ${own.length} bytes of salt`);
    const opened = units.map(({ tag, path, from, to }, i) => {
      return { tag, path, value: textOf(bytes.subarray(from, to)), salt: saltAt(own, i) };
    });
    const gone = deleted[group - 1]!.map(({ path, commitment }) => ({ tag: tagOf(path), commitment }));
    return { units: gone.length === 0 ? opened : byTag<ShownUnit>([...opened, ...gone]) };
  };
  return [open(1), open(2)];
}

/** What is left of a unit that was deleted. */
export interface DeletedUnit {
  path: string;
  commitment: Uint8Array;
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

/** The form of an event in JSON proofs and bundle lines; bytes are base64. */
export interface ShownLists {
  open: readonly (readonly [path: string, salt: string, value: string])[];
  closed: readonly (readonly [tag: string, commitment: string])[];
  groups: readonly [string | null, string | null];
}

/** The form in which an event is handed over: `shownFrom` reads it. */
export function listsOf(shown: ShownEvent): ShownLists {
  const open: [string, string, string][] = [];
  const closed: [string, string][] = [];
  for (const group of shown) {
    if (!('units' in group)) continue;
    for (const unit of group.units) {
      if (isOpen(unit)) open.push([unit.path, toBase64(unit.salt), unit.value]);
      else closed.push([toBase64(unit.tag.bytes), toBase64(unit.commitment)]);
    }
  }
  const root = (group: ShownGroup): string | null => ('root' in group ? toBase64(group.root) : null);
  return { open, closed, groups: [root(shown[0]), root(shown[1])] };
}
