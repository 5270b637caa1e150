// Lists and columns as the blocks of a segment have them. Each decoder throws unless the bytes are such as were written: what it
// gives is as long as it should be, and points to nothing that is not there.

import { ByteReader } from './bytes.ts';
import { widthOf } from './column-writer.ts';
import { requireSound } from './decoded.ts';
import { DocSet } from './doc-set.ts';
import type { PlacesInDocs, ReadValue } from './searched.ts';
import { isDense } from './segment-format.ts';

/** A block or a list of another length is not what was written. */
export function ofLength(raw: Buffer, length: number): Buffer {
  requireSound(raw.length === length, `${raw.length} bytes where it has ${length}`);
  return raw;
}

/** The docs of a term that so many of all have. */
export function docSetIn(bytes: Buffer, count: number, all: number): DocSet {
  requireSound(count <= all, 'a term that more docs have than there are');
  if (count === all) return DocSet.all(all);
  if (!isDense(count, all)) return DocSet.ofList(all, deltasIn(bytes, count, all));
  const bits = new Uint32Array(Math.ceil(all / 32));
  new Uint8Array(bits.buffer).set(ofLength(bytes, Math.ceil(all / 8)));
  const set = DocSet.ofBits(all, bits);
  // Bits behind the last doc count, too.
  requireSound(
    set.count === count && (bits.at(-1)! >>> 1) >>> ((all - 1) % 32) === 0,
    'a list of other docs',
  );
  return set;
}

function deltasIn(bytes: Buffer, count: number, all: number): Uint32Array {
  const reader = new ByteReader(bytes);
  const docs = new Uint32Array(count);
  let last = -1;
  for (let i = 0; i < count; i++) {
    const doc = (i === 0 ? 0 : last) + reader.varint();
    if (doc <= last || doc >= all) throw new Error('a list of the index has docs that are none');
    docs[i] = last = doc;
  }
  reader.end();
  return docs;
}

/** An event has far fewer words. */
const PLACE_MAX = 2 ** 24;

/**
 * Of each doc that has the term there is a number of bytes, and in these its places; those of docs that are not asked for are
 * passed over. A phrase of common words goes through millions of them, so they are read here, byte by byte.
 */
export function placesIn(bytes: Buffer, docs: Uint32Array, asked: Uint32Array): PlacesInDocs {
  const places = new Uint32Array(bytes.length);
  const ends = new Uint32Array(asked.length);
  let at = 0;
  let end = 0;
  for (let i = 0, next = 0; next < asked.length && i < docs.length; i++) {
    let byte = bytes[at++]!;
    let length = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) length |= ((byte = bytes[at++]!) & 0x7f) << shift;
    const ownEnd = at + length;
    if (length < 0 || ownEnd > bytes.length) throw new Error('a list of the index ends too soon');
    if (docs[i] === asked[next]) {
      for (let last = 0; at < ownEnd; ) {
        byte = bytes[at++]!;
        last += byte & 0x7f;
        for (let shift = 7; byte >= 0x80; shift += 7) last += ((byte = bytes[at++]!) & 0x7f) << shift;
        if (last >>> 0 > PLACE_MAX || at > ownEnd) throw new Error('a list of the index has no such place');
        places[end++] = last;
      }
      ends[next++] = end;
    }
    at = ownEnd;
  }
  return { places, ends };
}

/** Milliseconds of times that a date can have, and nanoseconds, which are fewer. */
const NUMBER_MAX = 8.64e15;

export function numbersIn(raw: Buffer, count: number): Float64Array {
  const reader = new ByteReader(raw);
  const numbers = new Float64Array(count);
  let last = 0;
  for (let i = 0; i < count; i++) {
    last += reader.signed();
    if (Math.abs(last) > NUMBER_MAX) throw new Error('a number of the index is too large');
    numbers[i] = last;
  }
  reader.end();
  return numbers;
}

export function orderIn(raw: Buffer, from: number, count: number, all: number): Uint32Array {
  const reader = new ByteReader(raw);
  const docs = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const doc = from + i + reader.signed();
    if (doc < 0 || doc >= all) throw new Error('an order of the index has docs that are none');
    docs[i] = doc;
  }
  reader.end();
  return docs;
}

export function valuePlacesIn(raw: Buffer, docs: number, values: number): ArrayLike<number> {
  const width = widthOf(values);
  const places = unpacked(ofLength(raw, docs * width), width);
  // Docs without content have the first place, also where there are no values.
  for (let doc = 0; doc < docs; doc++)
    if (places[doc]! >= values && places[doc] !== 0)
      throw new Error('a column of the index has no such value');
  return places;
}

function unpacked(raw: Buffer, width: 1 | 2 | 4): ArrayLike<number> {
  if (width === 1) return raw;
  // Copied, since they must begin where their kind of number can.
  const { buffer } = new Uint8Array(raw);
  return width === 2 ? new Uint16Array(buffer) : new Uint32Array(buffer);
}

export function valuesIn(raw: Buffer): ReadValue[] {
  const reader = new ByteReader(raw);
  const text = () => reader.bytes(reader.varint()).toString('utf8');
  const label = () => {
    const doc = reader.varint();
    return doc === 0 ? undefined : { doc: doc - 1, text: text() };
  };
  const values: ReadValue[] = [];
  while (!reader.isAtEnd) values.push({ text: text(), label: label(), openLabel: label() });
  return values;
}
