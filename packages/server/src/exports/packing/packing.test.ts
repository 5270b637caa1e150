// Files that are packed piece by piece are what any reader of their format reads, wherever the pieces were cut.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, gunzipSync, inflateRawSync } from 'node:zlib';
import { deflated, DEFLATE_END, NOTHING_PACKED, packedWith } from './deflate.ts';
import { GZIP_BEGIN, gzipEnd } from './gzip.ts';
import { entryBegin, entryEnd, zipEnd } from './zip.ts';

const PIECES = ['', 'one\n', 'x'.repeat(100_000), 'ünï 🎉\n', ''].map((text) => Buffer.from(text));
const TEXT = Buffer.concat(PIECES);

async function packed() {
  const bytes = await Promise.all(PIECES.map(deflated));
  return { bytes: Buffer.concat(bytes), facts: PIECES.reduce(packedWith, NOTHING_PACKED) };
}

test('gzip has one member', async () => {
  const { bytes, facts } = await packed();
  const file = Buffer.concat([GZIP_BEGIN, bytes, gzipEnd(facts)]);
  assert.deepEqual(gunzipSync(file), TEXT);
  assert.deepEqual(gunzipSync(Buffer.concat([GZIP_BEGIN, gzipEnd(NOTHING_PACKED)])), Buffer.alloc(0));
});

/** What the directory at the end of an archive says of its entries. */
function directoryOf(file: Buffer) {
  const end = file.subarray(-22);
  assert.equal(end.readUInt32LE(0), 0x06054b50);
  const [count, size, offset] = [end.readUInt16LE(10), end.readUInt32LE(12), end.readUInt32LE(16)];
  const directory = file.subarray(offset, offset + size);
  const entries = [];
  for (let at = 0; at < directory.length; ) {
    assert.equal(directory.readUInt32LE(at), 0x02014b50);
    const [nameBytes, extraBytes] = [directory.readUInt16LE(at + 28), directory.readUInt16LE(at + 30)];
    entries.push({
      crc: directory.readUInt32LE(at + 16),
      packedBytes: directory.readUInt32LE(at + 20),
      rawBytes: directory.readUInt32LE(at + 24),
      offset: directory.readUInt32LE(at + 42),
      name: String(directory.subarray(at + 46, at + 46 + nameBytes)),
      extra: directory.subarray(at + 46 + nameBytes, at + 46 + nameBytes + extraBytes),
    });
    at += 46 + nameBytes + extraBytes;
  }
  assert.equal(entries.length, count);
  return entries;
}

test('an archive leads to its entries', async () => {
  const { bytes, facts } = await packed();
  const data = Buffer.concat([bytes, DEFLATE_END]);
  const entry = { ...facts, name: 'events.csv', offset: 0, packedBytes: data.length };
  const parts = [entryBegin('events.csv'), data, entryEnd(entry)];
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  const file = Buffer.concat([...parts, zipEnd([entry], size)]);
  const [found] = directoryOf(file);
  assert.equal(found!.name, 'events.csv');
  assert.equal(file.readUInt32LE(found!.offset), 0x04034b50);
  const from = 30 + file.readUInt16LE(26) + file.readUInt16LE(28);
  const read = inflateRawSync(file.subarray(from, from + found!.packedBytes));
  assert.deepEqual(read, TEXT);
  assert.deepEqual([found!.crc, found!.rawBytes], [crc32(TEXT), TEXT.length]);
});

test('sizes beyond 32 bits stand in the extra field, and the directory is found by that of ZIP64', () => {
  const large = 2 ** 33 + 5;
  const entry = { name: 'events.xml', crc: 1, rawBytes: large, packedBytes: 100, offset: large + 1 };
  const file = Buffer.from(zipEnd([entry], large + 200));
  assert.equal(file.readUInt32LE(file.length - 22 + 16), 0xffffffff);
  const end64 = file.subarray(-22 - 20 - 56);
  assert.equal(end64.readUInt32LE(0), 0x06064b50);
  assert.equal(end64.readBigUInt64LE(48), BigInt(large + 200));
  assert.equal(end64.readBigUInt64LE(56 + 8), BigInt(large + 200) + end64.readBigUInt64LE(40));
  const extra = file.subarray(46 + 10, 46 + 10 + 20);
  assert.deepEqual(
    [extra.readUInt16LE(0), extra.readUInt16LE(2), extra.readBigUInt64LE(4), extra.readBigUInt64LE(12)],
    [1, 16, BigInt(large), BigInt(large + 1)],
  );
  assert.equal(entryEnd({ crc: 1, rawBytes: large, packedBytes: 100 }).length, 24);
});
