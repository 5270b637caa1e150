// Content of which single units are deleted for good ("punctured"): the texts of what is left, the salts of its units, and of
// each deleted unit its path and its commitment, so that the group roots can still be recomputed.
//
//   seeds  = the salts of the units that are left, 16 bytes each: group 1, then group 2, in each by ascending tag
//   closed = the RFC 8785 text of  [ [ [path, C], … ], [ [path, C], … ] ]      by group, ascending by tag, C in base64
//
// A row whose `closed` is null is whole, and has two seeds instead. Every byte of `closed` is bound: a path and a
// commitment are hashed into the root, and the text has one spelling.

import {
  byTag,
  canonicalJson,
  commitmentOf,
  decodeEntry,
  type EncodedGroup,
  type EncodedUnit,
  EvidenceError,
  fromBase64,
  type Group,
  groupOf,
  HASH_BYTES,
  openTexts,
  parseJson,
  SALT_BYTES,
  type ShownEvent,
  splitGroup,
  tagOf,
  toBase64,
} from '@tallystick/evidence';
import { SEED_BYTES, saltsOf } from '../pool/commitments.ts';
import { blobOf, blobOrNone } from './columns.ts';
import type { Redaction } from './redaction-notice.ts';
import type { DeletedTags } from './stored-content.ts';

/** The four columns of a content that its units are kept in. */
export interface UnitColumns {
  readonly text1: Uint8Array;
  readonly text2: Uint8Array;
  readonly seeds: Uint8Array;
  /** Undefined: nothing is deleted. */
  readonly closed: Uint8Array | undefined;
}

/** What is left of a deleted unit. */
export interface DeletedUnit {
  readonly path: string;
  /** In base64, as in a notice. */
  readonly tag: string;
  readonly commitment: Uint8Array;
}

export type DeletedUnits = readonly [readonly DeletedUnit[], readonly DeletedUnit[]];

/** Of a row that has a content. */
export function unitColumnsIn(row: Readonly<Record<string, unknown>>): UnitColumns {
  return {
    text1: blobOf(row, 'text1'),
    text2: blobOf(row, 'text2'),
    seeds: blobOf(row, 'seeds'),
    closed: blobOrNone(row, 'closed'),
  };
}

const NONE: DeletedUnits = [[], []];
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Throws EvidenceError for bytes that this version does not write. */
export function deletedIn(closed: Uint8Array | undefined): DeletedUnits {
  if (closed === undefined) return NONE;
  const text = decoded(closed);
  const read = parseJson(text);
  if (!Array.isArray(read) || read.length !== 2) throw malformed();
  const units = read.map((group: unknown, i) => {
    if (!Array.isArray(group)) throw malformed();
    return group.map((pair: unknown) => deletedUnit(pair, (i + 1) as Group));
  });
  const [one, two] = units as [DeletedUnit[], DeletedUnit[]];
  if (one.length + two.length === 0 || closedText([one, two]) !== text) throw malformed();
  return [one, two];
}

function deletedUnit(pair: unknown, group: Group): DeletedUnit {
  if (!Array.isArray(pair) || pair.length !== 2) throw malformed();
  const [path, commitment] = pair as unknown[];
  if (typeof path !== 'string' || typeof commitment !== 'string' || groupOf(path) !== group)
    throw malformed();
  const bytes = fromBase64(commitment);
  if (bytes.length !== HASH_BYTES) throw malformed();
  return { path, tag: toBase64(tagOf(path).bytes), commitment: bytes };
}

/** In the order of tags, which is that of the group root. */
function closedText(units: DeletedUnits): string {
  const listOf = (group: readonly DeletedUnit[]) =>
    byTag(group.map((unit) => ({ ...unit, tag: tagOf(unit.path) }))).map(({ path, commitment }) => [
      path,
      toBase64(commitment),
    ]);
  return canonicalJson([listOf(units[0]), listOf(units[1])]);
}

/** The event as it is kept: what is left open, what is deleted closed. Throws EvidenceError for what is no such content. */
export function shownUnits(columns: UnitColumns): ShownEvent {
  const texts = [decoded(columns.text1), decoded(columns.text2)] as const;
  return openTexts(texts, saltsIn(columns), deletedIn(columns.closed));
}

/** The salts of the units that are left, by group. */
export function saltsIn({ text1, text2, seeds, closed }: UnitColumns): readonly [Uint8Array, Uint8Array] {
  const counts = [splitGroup(text1, 1).units.length, splitGroup(text2, 2).units.length] as const;
  if (closed === undefined)
    return [
      saltsOf(seeds.subarray(0, SEED_BYTES), counts[0]),
      saltsOf(seeds.subarray(SEED_BYTES), counts[1]),
    ];
  const bytes = (counts[0] + counts[1]) * SALT_BYTES;
  if (seeds.length !== bytes)
    throw new EvidenceError('MALFORMED', `its salts are ${seeds.length} bytes, not ${bytes}`);
  return [seeds.subarray(0, counts[0] * SALT_BYTES), seeds.subarray(counts[0] * SALT_BYTES)];
}

/** The same content without the units that have these tags (base64); the same columns if it has none of them. */
export function puncture(columns: UnitColumns, tags: ReadonlySet<string>): UnitColumns {
  const splits = [splitGroup(columns.text1, 1), splitGroup(columns.text2, 2)] as const;
  if (!splits.some(({ units }) => units.some((unit) => tags.has(nameOf(unit))))) return columns;
  const salts = saltsIn(columns);
  const before = deletedIn(columns.closed);
  const one = groupWithout(splits[0], salts[0], tags);
  const two = groupWithout(splits[1], salts[1], tags);
  return {
    text1: one.text,
    text2: two.text,
    seeds: Buffer.concat([...one.salts, ...two.salts]),
    closed: Buffer.from(
      closedText([
        [...before[0], ...one.deleted],
        [...before[1], ...two.deleted],
      ]),
    ),
  };
}

/** In base64, as in a notice. */
function nameOf({ tag }: Pick<EncodedUnit, 'tag'>): string {
  return toBase64(tag.bytes);
}

function groupWithout({ bytes, units }: EncodedGroup, salts: Uint8Array, tags: ReadonlySet<string>) {
  const left: Uint8Array[] = [];
  const deleted: DeletedUnit[] = [];
  for (const [i, unit] of units.entries()) {
    const salt = salts.subarray(i * SALT_BYTES, (i + 1) * SALT_BYTES);
    const tag = nameOf(unit);
    if (!tags.has(tag)) {
      left.push(salt);
      continue;
    }
    const commitment = commitmentOf(salt, decoded(bytes.subarray(unit.from, unit.to)));
    deleted.push({ path: unit.path, tag, commitment });
  }
  const paths = deleted.map(({ path }) => path);
  return { text: Buffer.from(textWithout(decoded(bytes), paths)), salts: left, deleted };
}

/**
 * The columns of a stored content once a notice's units are deleted; undefined if there is nothing to delete. `row` also has
 * the entry, which the notice must be about.
 */
export function punctured(
  row: Readonly<Record<string, unknown>>,
  { eventId, tags }: Pick<Redaction, 'eventId' | 'tags'>,
): UnitColumns | undefined {
  if (decodeEntry(blobOf(row, 'entry')).eventId !== eventId) return undefined;
  const columns = unitColumnsIn(row);
  const left = puncture(columns, new Set(tags));
  return left === columns ? undefined : left;
}

/** The text of one group without the units that have these tags (base64), for readers who need no hash of it. */
export function textWithoutUnits(text: string, group: Group, tags: DeletedTags): string {
  const gone = splitGroup(Buffer.from(text), group).units.filter(({ tag }) => tags.has(toBase64(tag.bytes)));
  return gone.length === 0
    ? text
    : textWithout(
        text,
        gone.map(({ path }) => path),
      );
}

/** The RFC 8785 text without the members at these paths; an object of which nothing is left goes with its last member. */
function textWithout(text: string, paths: readonly string[]): string {
  const members = parseJson(text) as Record<string, unknown>;
  for (const path of paths) {
    const [field, key] = path
      .slice(1)
      .split('/')
      .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
    const inside = key === undefined ? members : (members[field!] as Record<string, unknown>);
    delete inside[key ?? field!];
    if (key !== undefined && Object.keys(inside).length === 0) delete members[field!];
  }
  return canonicalJson(members);
}

function decoded(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new EvidenceError('MALFORMED', 'its content is not UTF-8');
  }
}

function malformed(): EvidenceError {
  return new EvidenceError(
    'MALFORMED',
    'what it says of its deleted units is not in the form of this service',
  );
}
