// The archive of an export with its texts changed, for tests: packed again as the service packs it, so that nothing else is wrong.

import assert from 'node:assert/strict';
import { crc32, deflateRawSync } from 'node:zlib';
import { entryBegin, entryEnd, type ZipEntry, zipEnd } from '../../../server/src/exports/packing/zip.ts';
import { unzipped } from '../../../server/src/testing/unzipped.ts';

export function changedArchive(archive: Buffer, change: (texts: Map<string, string>) => void): Buffer {
  const texts = unzipped(archive);
  change(texts);
  const pieces: Uint8Array[] = [];
  const entries: ZipEntry[] = [];
  let offset = 0;
  for (const [name, text] of texts) {
    const raw = Buffer.from(text);
    const packed = deflateRawSync(raw);
    const entry = { name, offset, rawBytes: raw.length, crc: crc32(raw), packedBytes: packed.length };
    for (const piece of [entryBegin(name), packed, entryEnd(entry)]) {
      pieces.push(piece);
      offset += piece.length;
    }
    entries.push(entry);
  }
  return Buffer.concat([...pieces, zipEnd(entries, offset)]);
}

/** A change of one of the texts, which must be one. */
export function edit(name: string, change: (text: string) => string) {
  return (texts: Map<string, string>): void => {
    const before = texts.get(name)!;
    const now = change(before);
    assert.notEqual(now, before, `${name} is changed`);
    texts.set(name, now);
  };
}
