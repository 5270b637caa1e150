// An event as it is shown to somebody: every unit open (path, salt, value) or closed (tag, commitment), or
// a whole group as its root alone. All three lead to the same content hash, so what is withheld is only
// withheld and not altered.
//
//   T = H( label(t) ‖ path )    C = H( label(f) ‖ salt[16] ‖ value )
//
// Here the lists of a proof or a bundle line become two groups in the order that the group root hashes them,
// and everything that could let one leaf tell two readers two truths is refused.

import { base64Length, compareBytes, fromBase64, toBase64 } from '../bytes.ts';
import { isCanonicalJson } from '../json/canonical-json.ts';
import { parseJson } from '../json/parse-json.ts';
import { EvidenceError } from '../errors.ts';
import { HASH_BYTES } from '../tree/tree.ts';
import {
  type Group,
  groupOf,
  isOpened,
  KNOWN_PATHS,
  OPENED_KEYS_MAX,
  type Tag,
  tagFrom,
  tagOf,
} from './units.ts';

export const SALT_BYTES = 16;

export interface OpenUnit {
  tag: Tag;
  path: string;
  salt: Uint8Array;
  /** RFC 8785 text, hashed as it stands. */
  value: string;
}

export interface ClosedUnit {
  tag: Tag;
  commitment: Uint8Array;
}

export type ShownUnit = OpenUnit | ClosedUnit;

/** The units of a group by ascending tag, or nothing but the group's root. */
export type ShownGroup = { units: readonly ShownUnit[] } | { root: Uint8Array };

export type ShownEvent = readonly [ShownGroup, ShownGroup];

/** The form of an event in JSON proofs and bundle lines; bytes are base64. */
export interface ShownLists {
  open: readonly (readonly [path: string, salt: string, value: string])[];
  closed: readonly (readonly [tag: string, commitment: string])[];
  groups: readonly [string | null, string | null];
}

export function isOpen(unit: ShownUnit): unit is OpenUnit {
  return 'value' in unit;
}

/** The open units of what is shown, both groups. */
export function openUnits(shown: ShownEvent): OpenUnit[] {
  return shown.flatMap((group) => ('units' in group ? group.units.filter(isOpen) : []));
}

/** Whether every unit is open. */
export function isWhollyOpen(shown: ShownEvent): boolean {
  return shown.every((group) => 'units' in group && group.units.every(isOpen));
}

/** Whether anything is hidden besides the units with these tags (base64): another closed unit, or a whole group. */
export function hidesMoreThan(shown: ShownEvent, tags: readonly string[]): boolean {
  const known = new Set(tags);
  return shown.some(
    (group) =>
      !('units' in group) ||
      group.units.some((unit) => !isOpen(unit) && !known.has(toBase64(unit.tag.bytes))),
  );
}

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

/** The lists as they come out of a JSON text, once they are seen to be of that shape. */
export function listsFrom(open: unknown, closed: unknown, groups: unknown): ShownLists {
  const isPair = Array.isArray(groups) && groups.length === 2;
  if (!isPair || !groups.every((root) => root === null || typeof root === 'string')) {
    throw new EvidenceError('MALFORMED', 'the groups are not a pair of roots or nulls');
  }
  if (!areTuples(open, 3) || !areTuples(closed, 2)) {
    throw new EvidenceError('MALFORMED', 'the open or closed units are not lists of texts');
  }
  return { open, closed, groups } as unknown as ShownLists;
}

export function shownOf(lists: ShownLists): ShownEvent {
  const open = lists.open.map(([path, salt, value]) => openUnit(path, salt, value));
  const closed = lists.closed.map(([tag, commitment]) => closedUnit(tag, commitment));
  requireOrder(open, ({ path }) => groupOf(path));
  requireOrder(closed, ({ tag }) => groupOfTag(tag));
  const units: [ShownUnit[], ShownUnit[]] = [[], []];
  for (const unit of open) units[groupOf(unit.path) - 1]!.push(unit);
  for (const unit of closed) units[groupOfTag(unit.tag) - 1]!.push(unit);
  refuseTwoReadings(units[1]);
  return [shownGroup(1, units[0], lists.groups[0]), shownGroup(2, units[1], lists.groups[1])];
}

/** Sorts units as the group root wants them; a path that stands twice is refused. */
export function byTag<U extends { tag: Tag }>(units: U[]): U[] {
  units.sort((a, b) => compareTags(a.tag, b.tag));
  for (let i = 1; i < units.length; i++) {
    const { tag } = units[i]!;
    if (compareTags(units[i - 1]!.tag, tag) !== 0) continue;
    throw new EvidenceError('PATH_CONFLICT', `the unit with tag ${toBase64(tag.bytes)} stands twice`);
  }
  return units;
}

/** Group 1 before group 2, tags ascending: so that what is shown has one text. */
function requireOrder<U extends ShownUnit>(units: readonly U[], groupOfUnit: (unit: U) => Group): void {
  for (let i = 1; i < units.length; i++) {
    const before = units[i - 1]!;
    const after = units[i]!;
    const steps = groupOfUnit(after) - groupOfUnit(before) || compareTags(after.tag, before.tag);
    if (steps > 0) continue;
    const fault = steps === 0 ? 'stands twice' : 'is out of order';
    const message = `the unit with tag ${toBase64(after.tag.bytes)} ${fault}`;
    throw new EvidenceError(steps === 0 ? 'PATH_CONFLICT' : 'MALFORMED', message);
  }
}

export function compareTags(a: Tag, b: Tag): number {
  return a.order - b.order || compareBytes(a.bytes, b.bytes);
}

function shownGroup(group: Group, units: ShownUnit[], root: string | null): ShownGroup {
  if (root === null) return { units: byTag(units) };
  if (units.length > 0) {
    throw new EvidenceError('PATH_CONFLICT', `group ${group} is shown as its root and by its units`);
  }
  return { root: bytesOf(root, HASH_BYTES, 'group root') };
}

function openUnit(path: string, salt: string, value: string): OpenUnit {
  if (!isCanonicalJson(value)) {
    throw new EvidenceError(
      'VALUE_NOT_CANONICAL',
      `the value at ${JSON.stringify(path)} is not its own RFC 8785 text`,
    );
  }
  if (value.startsWith('{') && !path.includes('/', 1) && isOpened(parseJson(value))) {
    throw new EvidenceError(
      'PATH_CONFLICT',
      `${JSON.stringify(path)} stands as one unit; its keys should have one each`,
    );
  }
  return { tag: tagOf(path), path, salt: bytesOf(salt, SALT_BYTES, 'salt'), value };
}

function closedUnit(tag: string, commitment: string): ClosedUnit {
  return {
    tag: tagFrom(bytesOf(tag, HASH_BYTES, 'tag')),
    commitment: bytesOf(commitment, HASH_BYTES, 'commitment'),
  };
}

let knownTags: Tag[] | undefined;

/** Group 1 has a closed list of paths, so a closed unit's group can be told by its tag. */
function groupOfTag(tag: Tag): Group {
  knownTags ??= KNOWN_PATHS.map(tagOf);
  return knownTags.some((known) => compareTags(known, tag) === 0) ? 1 : 2;
}

/** /payload beside /payload/amount, or more keys than are ever opened, could be read as two different events. */
function refuseTwoReadings(units: readonly ShownUnit[]): void {
  for (const field of ['/context', '/payload']) {
    const under = units.filter(isOpen).filter(({ path }) => path.startsWith(`${field}/`));
    const tag = tagOf(field);
    if (under.length > 0 && units.some((unit) => compareTags(unit.tag, tag) === 0)) {
      throw new EvidenceError(
        'PATH_CONFLICT',
        `${field} and ${JSON.stringify(under[0]!.path)} both stand in one event`,
      );
    }
    if (under.length > OPENED_KEYS_MAX) {
      throw new EvidenceError(
        'PATH_CONFLICT',
        `${field} has ${under.length} units; limit ${OPENED_KEYS_MAX}`,
      );
    }
  }
}

function areTuples(value: unknown, length: number): value is string[][] {
  return Array.isArray(value) && value.every((item) => areTexts(item) && item.length === length);
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function bytesOf(text: string, length: number, what: string): Uint8Array {
  if (base64Length(text) !== length) {
    throw new EvidenceError('MALFORMED', `${what} is not ${length} bytes in base64`);
  }
  return fromBase64(text);
}
