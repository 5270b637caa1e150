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
  return shownFrom(
    lists.open.map(([path, salt, value]) =>
      openUnit(path, bytesOf(salt, SALT_BYTES, 'salt'), requireCanonical(path, value)),
    ),
    lists.closed.map(([tag, commitment]) =>
      closedUnit(bytesOf(tag, HASH_BYTES, 'tag'), bytesOf(commitment, HASH_BYTES, 'commitment')),
    ),
    [rootOf(lists.groups[0]), rootOf(lists.groups[1])],
  );
}

/** An event out of its open and its closed units, each in the order of their tags, and the roots of whole groups. */
export function shownFrom(
  open: readonly OpenUnit[],
  closed: readonly ClosedUnit[],
  roots: readonly [Uint8Array | null, Uint8Array | null],
): ShownEvent {
  const openEnd = endOfGroup1(open, ({ path }) => groupOf(path));
  const closedEnd = endOfGroup1(closed, ({ tag }) => groupOfTag(tag));
  const first = merged(open.slice(0, openEnd), closed.slice(0, closedEnd));
  const second = merged(open.slice(openEnd), closed.slice(closedEnd));
  refuseTwoReadings(second);
  return [shownGroup(1, first, roots[0]), shownGroup(2, second, roots[1])];
}

function merged(open: OpenUnit[], closed: ClosedUnit[]): ShownUnit[] {
  if (closed.length === 0) return open;
  return open.length === 0 ? closed : byTag([...open, ...closed]);
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

/** How many units are of group 1. They come first, tags ascending in both: so that what is shown has one text. */
function endOfGroup1<U extends ShownUnit>(units: readonly U[], groupOfUnit: (unit: U) => Group): number {
  let end = 0;
  let groupBefore: Group = 1;
  for (let i = 0; i < units.length; i++) {
    const unit = units[i]!;
    const group = groupOfUnit(unit);
    const steps = i === 0 ? 1 : group - groupBefore || compareTags(unit.tag, units[i - 1]!.tag);
    if (steps <= 0) throw misplaced(unit, steps === 0);
    groupBefore = group;
    if (group === 1) end = i + 1;
  }
  return end;
}

function misplaced({ tag }: ShownUnit, isTwice: boolean): EvidenceError {
  const message = `the unit with tag ${toBase64(tag.bytes)} ${isTwice ? 'stands twice' : 'is out of order'}`;
  return new EvidenceError(isTwice ? 'PATH_CONFLICT' : 'MALFORMED', message);
}

export function compareTags(a: Tag, b: Tag): number {
  return a.order - b.order || compareBytes(a.bytes, b.bytes);
}

function shownGroup(group: Group, units: readonly ShownUnit[], root: Uint8Array | null): ShownGroup {
  if (root === null) return { units };
  if (units.length > 0) {
    throw new EvidenceError('PATH_CONFLICT', `group ${group} is shown as its root and by its units`);
  }
  return { root };
}

function rootOf(root: string | null): Uint8Array | null {
  return root === null ? null : bytesOf(root, HASH_BYTES, 'group root');
}

/** `value` is RFC 8785 text. */
export function openUnit(path: string, salt: Uint8Array, value: string): OpenUnit {
  if (value.startsWith('{') && !path.includes('/', 1) && isOpened(parseJson(value))) {
    throw new EvidenceError(
      'PATH_CONFLICT',
      `${JSON.stringify(path)} stands as one unit; its keys should have one each`,
    );
  }
  return { tag: tagOf(path), path, salt, value };
}

export function requireCanonical(path: string, value: string): string {
  if (isCanonicalJson(value)) return value;
  const message = `the value at ${JSON.stringify(path)} is not its own RFC 8785 text`;
  throw new EvidenceError('VALUE_NOT_CANONICAL', message);
}

export function closedUnit(tag: Uint8Array, commitment: Uint8Array): ClosedUnit {
  return { tag: tagFrom(tag), commitment };
}

let knownTags: Tag[] | undefined;

/** Group 1 has a closed list of paths, so a closed unit's group can be told by its tag. */
function groupOfTag(tag: Tag): Group {
  knownTags ??= KNOWN_PATHS.map(tagOf);
  return knownTags.some((known) => compareTags(known, tag) === 0) ? 1 : 2;
}

/** /payload beside /payload/amount, or more keys than are ever opened, could be read as two different events. */
function refuseTwoReadings(units: readonly ShownUnit[]): void {
  for (const field of ['/context/', '/payload/']) {
    const under = units.filter((unit) => isOpen(unit) && unit.path.startsWith(field));
    if (under.length === 0) continue;
    const whole = field.slice(0, -1);
    const tag = tagOf(whole);
    if (units.some((unit) => compareTags(unit.tag, tag) === 0)) {
      throw new EvidenceError('PATH_CONFLICT', `${whole} and a unit under it both stand in one event`);
    }
    if (under.length > OPENED_KEYS_MAX) {
      throw new EvidenceError(
        'PATH_CONFLICT',
        `${whole} has ${under.length} units; limit ${OPENED_KEYS_MAX}`,
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
