// The manifest of an export: what was asked for, and the checksums of the data, of its bundle and of the page that verifies them, signed
// by the log's key.
//
//   <RFC 8785 text of the manifest, with its member "signatures"> newline
//
// The signatures are those of a note (note.ts) whose text is the RFC 8785 text without that member, and a newline.

import { concat, textOf } from '../bytes.ts';
import { columnName, type ContentPath } from './content-columns.ts';
import { malformed } from '../errors.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { parseJson } from '../json/parse-json.ts';
import { requireSameOrigin } from '../note/checkpoint.ts';
import { openNote, type Verifier } from '../note/note.ts';
import { isCount } from '../tree/tree.ts';

export const MANIFEST_FORMAT = 'audit-export/1';
export const MANIFEST_NAME = 'manifest.json';
export const PAGE_NAME = 'verify.html';
const BYTES_MAX = 1_048_576;

/** The files of an export: the entries of its archive, or the same unpacked. */
export interface ExportArchive {
  readonly names: readonly string[];
  /** The bytes of a file. Throws where there is none of that name. */
  entry(name: string): AsyncIterable<Uint8Array>;
}

export const DATA_FORMATS = ['JSON', 'NDJSON', 'CSV', 'XML'] as const;
export type DataFormat = (typeof DATA_FORMATS)[number];

export interface ManifestEntry {
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly exportId: string;
  readonly requestedAt: string;
  readonly tenantId: string;
  readonly origin: string;
  readonly criteria: Readonly<Record<string, unknown>>;
  readonly dataFormat: DataFormat;
  /** Of CSV: those for single values of context and payload, by their names. */
  readonly contentColumns: ReadonlyMap<string, ContentPath>;
  readonly counts: { readonly exported: number; readonly proven: number; readonly withheld?: unknown };
  readonly data: ManifestEntry;
  readonly evidence: ManifestEntry;
  readonly page?: ManifestEntry;
  readonly range: {
    /** Of the log's first entry, in the tenant's sequence. */
    readonly firstIndex: number;
    readonly from: number;
    readonly to: number;
    readonly complete: boolean;
  };
  readonly checkpoint: { readonly size: number; readonly root: string };
  readonly schedule?: ManifestPlace;
}

/** Which file of a schedule it is. */
export interface ManifestPlace {
  readonly scheduleId: string;
  /** From 1. */
  readonly number: number;
  /** SHA-256, in hex, of the manifest before it; null: it is the first. */
  readonly previous: string | null;
}

export async function openManifest(bytes: Uint8Array, verifiers: readonly Verifier[]): Promise<Manifest> {
  const { manifest, note } = parseManifest(bytes);
  for (const { name } of verifiers) requireSameOrigin('key', name, manifest.origin);
  await openNote(note, verifiers);
  return manifest;
}

export async function manifestBytes(archive: ExportArchive): Promise<Uint8Array> {
  if (!archive.names.includes(MANIFEST_NAME))
    throw malformed(
      'there is no manifest.json: the export was made without includeProofs, or it was taken out',
    );
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of archive.entry(MANIFEST_NAME)) {
    length += chunk.length;
    if (length > BYTES_MAX) throw malformed(`manifest.json is over ${BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return concat(...chunks);
}

/** Without its signatures being verified: nothing in it is to be believed yet. The note has them. */
export function parseManifest(bytes: Uint8Array): { readonly manifest: Manifest; readonly note: string } {
  const text = textOf(bytes);
  const { signatures, ...signed } = objectIn(parseJson(text), 'it');
  if (`${canonicalJson({ ...signed, signatures })}\n` !== text)
    throw wrong('it is not its own RFC 8785 text');
  if (!Array.isArray(signatures) || !signatures.every((line) => typeof line === 'string'))
    throw wrong('signatures is no list of texts');
  const note = `${canonicalJson(signed)}\n\n${signatures.join('\n')}\n`;
  return { manifest: manifestIn(signed), note };
}

function manifestIn(read: Record<string, unknown>): Manifest {
  if (read['format'] !== MANIFEST_FORMAT) throw wrong(`it is not of the format ${MANIFEST_FORMAT}`);
  const { entries } = read;
  if (!Array.isArray(entries) || entries.length < 2 || entries.length > 3)
    throw wrong('entries is no list of two or three');
  const page = entries.length === 3 ? entryIn(entries[2]) : undefined;
  if (page !== undefined && page.name !== PAGE_NAME) throw wrong(`the third of entries is no ${PAGE_NAME}`);
  const counts = objectIn(read['counts'], 'counts');
  const range = objectIn(read['range'], 'range');
  const checkpoint = objectIn(read['checkpoint'], 'checkpoint');
  const dataFormat = DATA_FORMATS.find((format) => format === read['dataFormat']);
  if (dataFormat === undefined) throw wrong('dataFormat is none that is known');
  if (typeof range['complete'] !== 'boolean') throw wrong('range.complete is not true or false');
  return {
    exportId: stringIn(read, 'exportId'),
    requestedAt: stringIn(read, 'requestedAt'),
    tenantId: stringIn(read, 'tenantId'),
    origin: stringIn(read, 'origin'),
    criteria: objectIn(read['criteria'], 'criteria'),
    dataFormat,
    contentColumns: contentColumnsIn(read['contentColumns']),
    counts: {
      exported: countIn(counts, 'exported'),
      proven: countIn(counts, 'proven'),
      ...(counts['withheld'] !== undefined && { withheld: counts['withheld'] }),
    },
    data: entryIn(entries[0]),
    evidence: entryIn(entries[1]),
    ...(page !== undefined && { page }),
    range: {
      firstIndex: countIn(range, 'firstIndex'),
      from: countIn(range, 'from'),
      to: countIn(range, 'to'),
      complete: range['complete'],
    },
    checkpoint: { size: countIn(checkpoint, 'size'), root: stringIn(checkpoint, 'root') },
    ...(read['schedule'] !== undefined && { schedule: placeIn(read['schedule']) }),
  };
}

function placeIn(value: unknown): ManifestPlace {
  const place = objectIn(value, 'schedule');
  const { previous } = place;
  const number = countIn(place, 'number');
  const isSound =
    number > 1 ? typeof previous === 'string' && HASH.test(previous) : number === 1 && previous === null;
  if (!isSound) throw wrong('schedule does not name the manifest before it');
  return { scheduleId: stringIn(place, 'scheduleId'), number, previous: previous as string | null };
}

const HASH = /^[0-9a-f]{64}$/;

function contentColumnsIn(value: unknown): ReadonlyMap<string, ContentPath> {
  const columns = new Map<string, ContentPath>();
  for (const [name, path] of Object.entries(value === undefined ? {} : objectIn(value, 'contentColumns'))) {
    if (!isContentPath(path) || columnName(path) !== name)
      throw wrong(`contentColumns: ${name.slice(0, 80)} is not the name of its path`);
    columns.set(name, path);
  }
  return columns;
}

function isContentPath(value: unknown): value is ContentPath {
  if (!Array.isArray(value) || value.length < 2) return false;
  const [root, ...steps] = value as unknown[];
  return (
    (root === 'context' || root === 'payload') &&
    steps.every((step) => typeof step === 'string' || (typeof step === 'number' && isCount(step)))
  );
}

function entryIn(value: unknown): ManifestEntry {
  const entry = objectIn(value, 'entries');
  return { name: stringIn(entry, 'name'), size: countIn(entry, 'size'), sha256: stringIn(entry, 'sha256') };
}

function objectIn(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw wrong(`${what} is no object`);
}

function stringIn(object: Readonly<Record<string, unknown>>, name: string): string {
  const value = object[name];
  if (typeof value === 'string') return value;
  throw wrong(`${name} is no text`);
}

function countIn(object: Readonly<Record<string, unknown>>, name: string): number {
  const value = object[name];
  if (typeof value === 'number' && isCount(value)) return value;
  throw wrong(`${name} is no count`);
}

function wrong(why: string) {
  return malformed(`manifest: ${why}`);
}
