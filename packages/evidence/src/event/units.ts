// Units: the pieces of an event that can be shown or withheld one by one.
//
// Each top-level field of the event's JSON is a unit, except that a field whose value is an object – not
// empty, at most 240 keys, no key over 256 UTF-8 bytes – is opened once more and gives one unit per key.
// A unit is (path, value): path is the RFC 6901 pointer, value the RFC 8785 text. Group 2 is /context,
// /payload and what is under them; group 1 is the rest. This division is unique: a verifier refuses a unit
// that should have been opened, and an unknown path in group 1.

import { utf8 } from '../bytes.ts';
import { parseJson } from '../json/parse-json.ts';
import { EvidenceError } from '../errors.ts';
import { LABEL_TAG } from './labels.ts';
import { sha256 } from '../hash/sha256.ts';

export type Group = 1 | 2;

export interface Unit {
  path: string;
  value: string;
}

export const OPENED_KEYS_MAX = 240;
export const OPENED_KEY_BYTES_MAX = 256;

/** Every path of group 1 that an event can have. */
export const KNOWN_PATHS: readonly string[] = [
  '/action',
  '/actor/actorType',
  '/actor/serviceId',
  '/actor/serviceName',
  '/actor/userId',
  '/actor/userName',
  '/classification',
  '/correlationId',
  '/outcome',
  '/resource/resourceId',
  '/resource/resourceName',
  '/resource/resourceType',
  '/submittedBy',
  '/timestamp',
];

/** Puts an event together again from its open units. */
export function eventOf(units: readonly Unit[]): Record<string, unknown> {
  const event: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const { path, value } of units) {
    const [field, key] = tokensOf(path);
    const under = key === undefined ? event : ((event[field] ??= Object.create(null)) as typeof event);
    under[key ?? field] = parseJson(value);
  }
  return event;
}

/** Whether an object is divided into one unit per key rather than being one unit. */
export function isOpened(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  if (keys.length === 0 || keys.length > OPENED_KEYS_MAX) return false;
  return !keys.some(isTooLong);
}

function isTooLong(key: string): boolean {
  return key.length > OPENED_KEY_BYTES_MAX / 3 && utf8(key).length > OPENED_KEY_BYTES_MAX;
}

const groups = new Map<string, Group>(KNOWN_PATHS.map((path) => [path, 1]));
// Payload keys come from callers, so what is remembered of paths must not grow with what they invent.
const PATHS_REMEMBERED_MAX = 20_000;
/** No unit's path is longer, even if every character of its key is escaped. */
export const PATH_LENGTH_MAX = 1024;

/** The group of a path, or an error where no event has a unit at that path. */
export function groupOf(path: string): Group {
  const known = groups.get(path);
  if (known !== undefined) return known;
  const [field, key] = tokensOf(path);
  if (field !== 'context' && field !== 'payload')
    throw unknown(`no event has a unit at ${JSON.stringify(path.slice(0, 80))}`);
  if (key !== undefined && isTooLong(key))
    throw unknown(`a key over ${OPENED_KEY_BYTES_MAX} bytes has no unit of its own`);
  if (groups.size < PATHS_REMEMBERED_MAX) groups.set(path, 2);
  return 2;
}

/** The one or two tokens of a unit's path; deeper paths and wrong escapes name nothing. */
export function tokensOf(path: string): [field: string, key?: string] {
  const match = /^\/((?:[^~/]|~[01])*)(?:\/((?:[^~/]|~[01])*))?$/s.exec(path);
  // A lone surrogate has no UTF-8 form: its tag would be that of the replacement character.
  if (match === null || !path.isWellFormed())
    throw unknown(`${JSON.stringify(path.slice(0, 80))} is no path of a unit`);
  const [field, key] = match.slice(1).map((token) => token?.replaceAll('~1', '/').replaceAll('~0', '~'));
  return key === undefined ? [field!] : [field!, key];
}

function unknown(message: string): EvidenceError {
  return new EvidenceError('PATH_UNKNOWN', message);
}

/** A unit's tag with what is needed to sort by it quickly. */
export interface Tag {
  bytes: Uint8Array;
  /** The same as words, to be copied quickly. */
  words: Int32Array;
  /** The first 48 bits as a number. */
  order: number;
}

export function tagFrom(hash: Uint8Array): Tag {
  let order = 0;
  for (let i = 0; i < 6; i++) order = order * 0x100 + hash[i]!;
  const bytes = hash.byteOffset % 4 === 0 ? hash : hash.slice();
  return { bytes, words: new Int32Array(bytes.buffer, bytes.byteOffset, 8), order };
}

const tags = new Map<string, Tag>();

/** T = H( label(t) ‖ path ): the same for the same path everywhere, hence cached. */
export function tagOf(path: string): Tag {
  const cached = tags.get(path);
  if (cached !== undefined) return cached;
  const tag = tagFrom(sha256(LABEL_TAG, utf8(path)));
  if (path.length > PATH_LENGTH_MAX) return tag;
  if (tags.size >= PATHS_REMEMBERED_MAX) tags.clear();
  tags.set(path, tag);
  return tag;
}
