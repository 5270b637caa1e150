// Entry bundles (c2sp.org/tlog-tiles): the entries behind a tile of level 0, 1 to 256 of them, in order:
//
//   u16 length ‖ entry ‖ u16 length ‖ entry ‖ …            length big-endian

import { EvidenceError, malformed } from '../errors.ts';
import { TILE_WIDTH } from './tiles.ts';

export const BUNDLED_ENTRY_BYTES_MAX = 0xffff;
const LENGTH_BYTES = 2;

export function encodeEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  requireWidth(entries.length);
  let length = 0;
  for (const entry of entries) {
    if (entry.length > BUNDLED_ENTRY_BYTES_MAX)
      throw malformed(`entry is ${entry.length} bytes; limit ${BUNDLED_ENTRY_BYTES_MAX}`);
    length += LENGTH_BYTES + entry.length;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const entry of entries) {
    writeU16(bytes, at, entry.length);
    bytes.set(entry, at + LENGTH_BYTES);
    at += LENGTH_BYTES + entry.length;
  }
  return bytes;
}

/** The `width` entries of a bundle, as views into its bytes. Fewer are TRUNCATED, more are MALFORMED. */
export function decodeEntryBundle(bytes: Uint8Array, width: number): Uint8Array[] {
  requireWidth(width);
  const entries: Uint8Array[] = [];
  let at = 0;
  while (entries.length < width) {
    const begin = at + LENGTH_BYTES;
    const end = begin <= bytes.length ? begin + readU16(bytes, at) : Infinity;
    if (end > bytes.length) {
      throw new EvidenceError('TRUNCATED', `bundle of ${width} entries ends inside entry ${entries.length}`);
    }
    entries.push(bytes.subarray(begin, end));
    at = end;
  }
  if (at !== bytes.length)
    throw malformed(`bundle has ${bytes.length - at} bytes after its ${width} entries`);
  return entries;
}

function requireWidth(width: number): void {
  if (!Number.isInteger(width) || width < 1 || width > TILE_WIDTH)
    throw malformed(`bundle of ${width} entries; a bundle has 1 to ${TILE_WIDTH}`);
}

function writeU16(into: Uint8Array, at: number, value: number): void {
  into[at] = value >>> 8;
  into[at + 1] = value;
}

function readU16(from: Uint8Array, at: number): number {
  return from[at]! * 0x100 + from[at + 1]!;
}
