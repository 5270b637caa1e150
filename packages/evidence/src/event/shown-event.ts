// An event as it is shown to somebody: every unit open (path, salt, value) or closed (tag, commitment), or
// a whole group as its root alone. All three lead to the same content hash, so what is withheld is only
// withheld and not altered.
//
//   T = H( label(t) ‖ path )    C = H( label(f) ‖ salt[16] ‖ value )
//
// Here the lists of a proof or a bundle line become two groups in the order that the group root hashes them,
// and everything that could let one leaf tell two readers two truths is refused.

import { bytesFrom, compareBytes, toBase64 } from '../bytes.ts';
import { isCanonicalJson } from '../json/canonical-json.ts';
import { parseJson } from '../json/parse-json.ts';
import { EvidenceError, malformed } from '../errors.ts';
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

export function isOpen(unit: ShownUnit): unit is OpenUnit {
  return 'value' in unit;
}

/** The open units of what is shown, both groups. */
export function openUnits(shown: ShownEvent): OpenUnit[] {
  return shown.flatMap((group) => ('units' in group ? group.units.filter(isOpen) : []));
}

/** The tags of the closed units, both groups, in base64. */
export function closedTags(shown: ShownEvent): string[] {
  const closed = shown.flatMap((group) =>
    'units' in group ? group.units.filter((unit) => !isOpen(unit)) : [],
  );
  return closed.map(({ tag }) => toBase64(tag.bytes));
}

/** Whether every unit is open. */
export function isWhollyOpen(shown: ShownEvent): boolean {
  return shown.every((group) => 'units' in group && group.units.every(isOpen));
}

/** Whether anything is withheld besides the units with these tags (base64): another closed unit, or a whole group. */
export function withholdsMoreThan(shown: ShownEvent, tags: readonly string[]): boolean {
  const known = new Set(tags);
  return shown.some((group) => 'root' in group) || closedTags(shown).some((tag) => !known.has(tag));
}

/**
 * An event out of the lists of a proof or a bundle line, as they come out of a JSON text; bytes are base64. `open` has
 * [path, salt, value], `closed` [tag, commitment], each in the order of their tags, and `groups` two roots or nulls.
 */
export function shownFrom(open: unknown, closed: unknown, groups: unknown): ShownEvent {
  const isPair = Array.isArray(groups) && groups.length === 2;
  if (!isPair || !groups.every((root) => root === null || typeof root === 'string'))
    throw malformed('the groups are not a pair of roots or nulls');
  if (!areTuples(open, 3) || !areTuples(closed, 2))
    throw malformed('the open or closed units are not lists of texts');
  const opened = open.map(([path, salt, value]) =>
    openUnit(path!, bytesFrom(salt, SALT_BYTES, 'salt'), value!),
  );
  const shut = closed.map(([tag, commitment]) => ({
    tag: tagFrom(bytesFrom(tag, HASH_BYTES, 'tag')),
    commitment: bytesFrom(commitment, HASH_BYTES, 'commitment'),
  }));
  const openEnd = endOfGroup1(opened, ({ path }) => groupOf(path));
  const closedEnd = endOfGroup1(shut, ({ tag }) => groupOfTag(tag));
  const first = merged(opened.slice(0, openEnd), shut.slice(0, closedEnd));
  const second = merged(opened.slice(openEnd), shut.slice(closedEnd));
  refuseTwoReadings(second);
  return [shownGroup(1, first, groups[0]), shownGroup(2, second, groups[1])];
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

function shownGroup(group: Group, units: readonly ShownUnit[], root: string | null): ShownGroup {
  if (root === null) return { units };
  if (units.length === 0) return { root: bytesFrom(root, HASH_BYTES, 'group root') };
  throw new EvidenceError('PATH_CONFLICT', `group ${group} is shown as its root and by its units`);
}

function openUnit(path: string, salt: Uint8Array, value: string): OpenUnit {
  if (!isCanonicalJson(value)) {
    const message = `the value at ${JSON.stringify(path)} is not its own RFC 8785 text`;
    throw new EvidenceError('VALUE_NOT_CANONICAL', message);
  }
  if (value.startsWith('{') && !path.includes('/', 1) && isOpened(parseJson(value))) {
    const message = `${JSON.stringify(path)} stands as one unit; its keys should have one each`;
    throw new EvidenceError('PATH_CONFLICT', message);
  }
  return { tag: tagOf(path), path, salt, value };
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
    if (units.some((unit) => compareTags(unit.tag, tag) === 0))
      throw new EvidenceError('PATH_CONFLICT', `${whole} and a unit under it both stand in one event`);
    if (under.length > OPENED_KEYS_MAX) {
      const message = `${whole} has ${under.length} units; limit ${OPENED_KEYS_MAX}`;
      throw new EvidenceError('PATH_CONFLICT', message);
    }
  }
}

function areTuples(value: unknown, length: number): value is string[][] {
  const isTuple = (item: unknown): boolean =>
    Array.isArray(item) && item.length === length && item.every((text) => typeof text === 'string');
  return Array.isArray(value) && value.every(isTuple);
}
