// The lines of a bundle, one JSON text each. A line has exactly one form – members in the order below, no
// white space, only the escapes that JSON demands (what ECMAScript's JSON.stringify writes) – so that no two
// readers can understand it differently. Bytes are base64.
//
//   header   {"format":"audit-bundle/1","origin":…,"size":n,"from":a,"to":b,"filter":…,"complete":…}
//            and, for a log that goes on after a restore, ,"previousCheckpoint":"<text>" where from is 0
//   entry    {"e":"<entry>","o":[[path,salt,value],…],"c":[[T,C],…],"g":[R₁|null,R₂|null]}
//            and ,"d":true (all content deleted) or ,"d":[T,…] (these closed units deleted)
//            and ,"i":[hash,…] (inclusion proof) where the bundle has no range proof
//   notice   {"k":"<entry>","o":[…],"i":[…]}     a notice outside the range that explains a deletion in it
//   trailer  {"entries":n,"proof":[hash,…],"checkpoint":"<signed note>","sha256":"<hex>"}
//
// from and to are leaf indexes, to is the first one outside; size is the size of the checkpoint's tree. The filter
// is RFC 8785 text. Units and tags stand in the order that the content hashes them in: group 1 first, T ascending.

import { fromBase64, toBase64 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { ENTRY_BYTES } from '../event/entry.ts';
import {
  type ClosedUnit,
  closedUnit,
  listsOf,
  type OpenUnit,
  openUnit,
  requireCanonical,
  SALT_BYTES,
  type ShownEvent,
  shownFrom,
} from '../event/shown-event.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { parseJson, parseJsonToCompare } from '../json/parse-json.ts';
import { formatCheckpoint, parseCheckpoint } from '../note/checkpoint.ts';
import { HASH_BYTES, isCount } from '../tree/tree.ts';
import { LineReader } from './line-reader.ts';

export const BUNDLE_FORMAT = 'audit-bundle/1';
export const LINE_BYTES_MAX = 1_048_576;

export interface BundleHeader {
  origin: string;
  size: number;
  from: number;
  to: number;
  /** What was asked for: null is everything. See bundle-filter.ts for the form that can be proven. */
  filter: unknown;
  complete: boolean;
  /** The text – three lines, no signature – of the checkpoint that the log's genesis hash names. */
  previousCheckpoint?: string;
}

/** `true`: all content of the event; otherwise the tags of the closed units that are gone. */
export type Deleted = true | readonly string[];

export interface EntryLine {
  entry: Uint8Array;
  shown: ShownEvent;
  deleted?: Deleted;
  inclusion?: readonly Uint8Array[];
}

export interface BundleTrailer {
  entries: number;
  proof: readonly Uint8Array[];
  checkpoint: string;
  sha256: string;
}

export function formatHeader(header: BundleHeader): string {
  const { origin, size, from, to, filter, complete, previousCheckpoint } = header;
  const range = JSON.stringify({ format: BUNDLE_FORMAT, origin, size, from, to }).slice(0, -1);
  const previous =
    previousCheckpoint === undefined ? '' : `,"previousCheckpoint":${JSON.stringify(previousCheckpoint)}`;
  return `${range},"filter":${canonicalJson(filter)},"complete":${complete}${previous}}`;
}

export function parseHeader(text: string): BundleHeader {
  const line = parseObject(text, 'header');
  if (line['format'] !== BUNDLE_FORMAT) {
    throw new EvidenceError('MALFORMED', `the file does not begin with the header of an ${BUNDLE_FORMAT}`);
  }
  const { origin, size, from, to, filter, complete, previousCheckpoint } = line;
  if (typeof origin !== 'string' || origin === '') throw malformed('header', 'origin is not a name');
  if (!isIndex(size) || !isIndex(from) || !isIndex(to))
    throw malformed('header', 'size, from or to is no index');
  if (from > to || to > size)
    throw malformed('header', `the range ${from} to ${to} is not within size ${size}`);
  if (filter === undefined) throw malformed('header', 'filter is missing');
  if (typeof complete !== 'boolean') throw malformed('header', 'complete is not true or false');
  const header: BundleHeader = { origin, size, from, to, filter, complete };
  if (previousCheckpoint !== undefined) header.previousCheckpoint = checkpointText(previousCheckpoint, from);
  return sameText(text, formatHeader(header), 'header', header);
}

/** Only the first entry of a log names it, so only a bundle that begins there can say anything by it. */
function checkpointText(value: unknown, from: number): string {
  const text = asString(value, 'header');
  if (from !== 0) throw malformed('header', 'previousCheckpoint stands in a bundle that does not begin at 0');
  if (formatCheckpoint(parseCheckpoint(text)) !== text)
    throw malformed('header', 'previousCheckpoint is no text of ours');
  return text;
}

export function formatEntryLine(line: EntryLine): string {
  const { open, closed, groups } = listsOf(line.shown);
  const { deleted, inclusion } = line;
  return JSON.stringify({
    e: toBase64(line.entry),
    o: open,
    c: closed,
    g: groups,
    // What is not there is left out.
    d: deleted,
    i: inclusion?.map(toBase64),
  });
}

/** `bytes` are the text in UTF-8, where they are at hand. */
export function parseEntryLine(text: string, bytes?: Uint8Array): EntryLine {
  const reader = new LineReader('entry line', text, bytes);
  reader.expect('{"e":');
  const entry = reader.bytes(ENTRY_BYTES);
  reader.expect(',"o":');
  const open = reader.list(() => readOpenUnit(reader));
  reader.expect(',"c":');
  const closed = reader.list(() => readClosedUnit(reader));
  reader.expect(',"g":[');
  const root1 = readRoot(reader);
  reader.expect(',');
  const root2 = readRoot(reader);
  reader.expect(']');
  const line: EntryLine = { entry, shown: shownFrom(open, closed, [root1, root2]) };
  if (reader.take(',"d":')) line.deleted = readDeleted(reader, line.shown);
  if (reader.take(',"i":')) line.inclusion = readHashes(reader);
  reader.expect('}');
  reader.end();
  return line;
}

export function formatNoticeLine(line: EntryLine): string {
  const inclusion = (line.inclusion ?? []).map(toBase64);
  return JSON.stringify({ k: toBase64(line.entry), o: listsOf(line.shown).open, i: inclusion });
}

export function parseNoticeLine(text: string): EntryLine & { inclusion: readonly Uint8Array[] } {
  const reader = new LineReader('notice line', text);
  reader.expect('{"k":');
  const entry = reader.bytes(ENTRY_BYTES);
  reader.expect(',"o":');
  const open = reader.list(() => readOpenUnit(reader));
  reader.expect(',"i":');
  const inclusion = readHashes(reader);
  reader.expect('}');
  reader.end();
  return { entry, shown: shownFrom(open, [], [null, null]), inclusion };
}

export function formatTrailer(trailer: BundleTrailer): string {
  const { entries, proof, checkpoint, sha256 } = trailer;
  return JSON.stringify({ entries, proof: proof.map(toBase64), checkpoint, sha256 });
}

export function parseTrailer(text: string): BundleTrailer {
  const { entries, proof, checkpoint, sha256 } = parseObject(text, 'trailer');
  if (!isIndex(entries)) throw malformed('trailer', 'entries is no count');
  const trailer: BundleTrailer = {
    entries,
    proof: hashesFrom(proof),
    checkpoint: asString(checkpoint, 'trailer'),
    sha256: asString(sha256, 'trailer'),
  };
  return sameText(text, formatTrailer(trailer), 'trailer', trailer);
}

function readOpenUnit(reader: LineReader): OpenUnit {
  reader.expect('[');
  const path = reader.path();
  reader.expect(',');
  const salt = reader.bytes(SALT_BYTES);
  reader.expect(',');
  const value = reader.plainStringText() ?? requireCanonical(path, reader.string());
  reader.expect(']');
  return openUnit(path, salt, value);
}

function readClosedUnit(reader: LineReader): ClosedUnit {
  reader.expect('[');
  const tag = reader.bytes(HASH_BYTES);
  reader.expect(',');
  const commitment = reader.bytes(HASH_BYTES);
  reader.expect(']');
  return closedUnit(tag, commitment);
}

function readRoot(reader: LineReader): Uint8Array | null {
  return reader.take('null') ? null : reader.bytes(HASH_BYTES);
}

function readHashes(reader: LineReader): Uint8Array[] {
  return reader.list(() => reader.bytes(HASH_BYTES));
}

/** A deleted unit must be shown closed, and a wholly deleted event as its two roots: nothing else is left of it. */
function readDeleted(reader: LineReader, shown: ShownEvent): Deleted {
  if (reader.take('true')) {
    if (shown.some((group) => 'units' in group)) {
      throw malformed('entry line', 'content is shown and said to be deleted');
    }
    return true;
  }
  const tags = reader.list(() => reader.string());
  const isDeleted = new Set(tags);
  // Taken from the closed units in their order, which has been verified: no tag twice, none that is not there.
  const named = listsOf(shown)
    .closed.map(([tag]) => tag)
    .filter((tag) => isDeleted.has(tag));
  if (tags.length === 0 || named.length !== tags.length || named.some((tag, i) => tag !== tags[i])) {
    throw malformed('entry line', 'd does not name closed units, in their order');
  }
  return tags;
}

function parseObject(text: string, what: string): Record<string, unknown> {
  // Every line is written anew and compared; only a header has keys that are not ours, in its filter.
  const value = what === 'header' ? parseJson(text) : parseJsonToCompare(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed(what, 'is no object');
  return value as Record<string, unknown>;
}

/** Repeated or unknown members, another order, white space and needless escapes all end here. */
function sameText<T>(text: string, rebuilt: string, what: string, value: T): T {
  if (text !== rebuilt) throw malformed(what, 'it is not in the one form that a bundle line has');
  return value;
}

function asString(value: unknown, what: string): string {
  if (typeof value !== 'string') throw malformed(what, 'a member that should be text is not');
  return value;
}

function texts(value: unknown): string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw malformed('line', 'a member that should be a list of texts is not');
  }
  return value;
}

/** A list of hashes as it comes out of a JSON text. */
export function hashesFrom(value: unknown): Uint8Array[] {
  return texts(value).map((text) => {
    const hash = fromBase64(text);
    if (hash.length !== HASH_BYTES) throw malformed('line', `a hash is not ${HASH_BYTES} bytes`);
    return hash;
  });
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && isCount(value);
}

function malformed(what: string, fault: string): EvidenceError {
  return new EvidenceError('MALFORMED', `${what}: ${fault}`);
}
