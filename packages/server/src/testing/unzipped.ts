// The texts in a Zip archive by their names, found by its directory; for tests.

import { inflateRawSync } from 'node:zlib';

const CENTRAL = 0x02014b50;

export function unzipped(archive: Buffer): Map<string, string> {
  const texts = new Map<string, string>();
  for (let at = archive.readUInt32LE(archive.length - 6); archive.readUInt32LE(at) === CENTRAL; ) {
    const [nameBytes, extraBytes] = [archive.readUInt16LE(at + 28), archive.readUInt16LE(at + 30)];
    const name = archive.toString('utf8', at + 46, at + 46 + nameBytes);
    const begin = archive.readUInt32LE(at + 42) + 30 + nameBytes;
    const packed = archive.subarray(begin, begin + archive.readUInt32LE(at + 20));
    texts.set(name, String(inflateRawSync(packed)));
    at += 46 + nameBytes + extraBytes;
  }
  return texts;
}
