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

import { bytesFrom, toBase64 } from '../bytes.ts';
import { malformed } from '../errors.ts';
import { ENTRY_BYTES } from '../event/entry.ts';
import { closedTags, type ShownEvent, shownFrom } from '../event/shown-event.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { parseJson, parseNatively } from '../json/parse-json.ts';
import { formatCheckpoint, parseCheckpoint } from '../note/checkpoint.ts';
import { HASH_BYTES, isCount } from '../tree/tree.ts';

export const BUNDLE_FORMAT = 'audit-bundle/1';
export const LINE_BYTES_MAX = 1_048_576;

export interface BundleHeader {
  origin: string;
  size: number;
  from: number;
  to: number;
  /** The filter that was asked for; null means everything. See bundle-filter.ts for the form that can be proven. */
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
  if (line['format'] !== BUNDLE_FORMAT)
    throw malformed(`the file does not begin with the header of an ${BUNDLE_FORMAT}`);
  const { origin, size, from, to, filter, complete, previousCheckpoint } = line;
  if (typeof origin !== 'string' || origin === '') throw malformed('header: origin is not a name');
  if (!isIndex(size) || !isIndex(from) || !isIndex(to))
    throw malformed('header: size, from or to is no index');
  if (from > to || to > size)
    throw malformed(`header: the range ${from} to ${to} is not within size ${size}`);
  if (filter === undefined) throw malformed('header: filter is missing');
  if (typeof complete !== 'boolean') throw malformed('header: complete is not true or false');
  const header: BundleHeader = { origin, size, from, to, filter, complete };
  if (previousCheckpoint !== undefined) header.previousCheckpoint = checkpointText(previousCheckpoint, from);
  requireForm(text, formatHeader(header), 'header');
  return header;
}

/** Only the first entry of a log names it, so only a bundle that begins there can say anything by it. */
function checkpointText(value: unknown, from: number): string {
  const text = asString(value, 'header');
  if (from !== 0) throw malformed('header: previousCheckpoint stands in a bundle that does not begin at 0');
  if (formatCheckpoint(parseCheckpoint(text)) === text) return text;
  throw malformed('header: previousCheckpoint is no text of ours');
}

export function parseEntryLine(text: string): EntryLine {
  const { e, o, c, g, d, i } = parseObject(text, 'entry line');
  const line: EntryLine = { entry: bytesFrom(e, ENTRY_BYTES, 'entry'), shown: shownFrom(o, c, g) };
  if (d !== undefined) line.deleted = deletedFrom(d, line.shown);
  if (i !== undefined) line.inclusion = hashesFrom(i);
  // All of them are texts or lists of texts by now, and base64 has one form.
  requireForm(text, JSON.stringify({ e, o, c, g, d, i }), 'entry line');
  return line;
}

export function parseNoticeLine(text: string): EntryLine & { inclusion: readonly Uint8Array[] } {
  const { k, o, i } = parseObject(text, 'notice line');
  const entry = bytesFrom(k, ENTRY_BYTES, 'entry');
  const line = { entry, shown: shownFrom(o, [], [null, null]), inclusion: hashesFrom(i) };
  requireForm(text, JSON.stringify({ k, o, i }), 'notice line');
  return line;
}

export function formatTrailer(trailer: BundleTrailer): string {
  const { entries, proof, checkpoint, sha256 } = trailer;
  return JSON.stringify({ entries, proof: proof.map(toBase64), checkpoint, sha256 });
}

export function parseTrailer(text: string): BundleTrailer {
  const { entries, proof, checkpoint, sha256 } = parseObject(text, 'trailer');
  if (!isIndex(entries)) throw malformed('trailer: entries is no count');
  const trailer: BundleTrailer = {
    entries,
    proof: hashesFrom(proof),
    checkpoint: asString(checkpoint, 'trailer'),
    sha256: asString(sha256, 'trailer'),
  };
  requireForm(text, formatTrailer(trailer), 'trailer');
  return trailer;
}

/** A deleted unit must be shown closed, and a wholly deleted event as its two roots: nothing else is left of it. */
function deletedFrom(deleted: unknown, shown: ShownEvent): Deleted {
  if (deleted === true) {
    if (shown.every((group) => 'root' in group)) return true;
    throw malformed('entry line: content is shown and said to be deleted');
  }
  const tags = textsFrom(deleted);
  // Taken from the closed units in their order, which has been verified: no tag twice, none that is not there.
  const isDeleted = new Set(tags);
  const named = closedTags(shown).filter((tag) => isDeleted.has(tag));
  if (tags.length > 0 && named.length === tags.length && named.every((tag, i) => tag === tags[i]))
    return tags;
  throw malformed('entry line: d does not name closed units, in their order');
}

function parseObject(text: string, what: string): Record<string, unknown> {
  // Every line is written anew and compared; only a header has keys that are not ours, in its filter.
  const value = what === 'header' ? parseJson(text) : parseNatively(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw malformed(`${what}: is no object`);
}

/** Repeated or unknown members, another order, white space and needless escapes all end here. */
function requireForm(text: string, written: string, what: string): void {
  if (text !== written) throw malformed(`${what}: it is not in the one form that a bundle line has`);
}

function asString(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw malformed(`${what}: a member that should be text is not`);
}

function textsFrom(value: unknown): string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw malformed('line: a member that should be a list of texts is not');
}

/** A list of hashes as it comes out of a JSON text. */
export function hashesFrom(value: unknown): Uint8Array[] {
  return textsFrom(value).map((text) => bytesFrom(text, HASH_BYTES, 'hash'));
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && isCount(value);
}
