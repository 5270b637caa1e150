// A Zip archive (PKWARE APPNOTE) of deflated entries, written from its beginning to its end: the size and the checksum of an entry
// stand behind it, since they are not known before. What does not fit into 32 bits is written as ZIP64.

import type { Packed } from './deflate.ts';

export interface ZipEntry extends Packed {
  readonly name: string;
  /** Where it begins in the archive. */
  readonly offset: number;
  readonly packedBytes: number;
}

const LOCAL = 0x04034b50;
const DESCRIPTOR = 0x08074b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const VERSION = 20;
const VERSION_64 = 45;
/** Made on Unix. */
const MADE_BY = 3 << 8;
/** Sizes stand behind the entry; its name is UTF-8. */
const FLAGS = 0x0808;
const DEFLATE = 8;
/** 1 January 1980: the archive says nothing of the time when it was made. */
const DATE = 0x21;
const MODE = (0o100644 << 16) >>> 0;
const MAX_32 = 0xffffffff;
const MAX_16 = 0xffff;
const ZIP64 = 1;

export function entryBegin(name: string): Uint8Array {
  const bytes = Buffer.from(name);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(LOCAL, 0);
  header.writeUInt16LE(VERSION, 4);
  header.writeUInt16LE(FLAGS, 6);
  header.writeUInt16LE(DEFLATE, 8);
  header.writeUInt16LE(DATE, 12);
  header.writeUInt16LE(bytes.length, 26);
  return Buffer.concat([header, bytes]);
}

export function entryEnd({ crc, packedBytes, rawBytes }: Omit<ZipEntry, 'name' | 'offset'>): Uint8Array {
  const isLarge = packedBytes >= MAX_32 || rawBytes >= MAX_32;
  const descriptor = Buffer.alloc(isLarge ? 24 : 16);
  descriptor.writeUInt32LE(DESCRIPTOR, 0);
  descriptor.writeUInt32LE(crc, 4);
  if (isLarge) {
    descriptor.writeBigUInt64LE(BigInt(packedBytes), 8);
    descriptor.writeBigUInt64LE(BigInt(rawBytes), 16);
  } else {
    descriptor.writeUInt32LE(packedBytes, 8);
    descriptor.writeUInt32LE(rawBytes, 12);
  }
  return descriptor;
}

/** `size`: of all that comes before. */
export function zipEnd(entries: readonly ZipEntry[], size: number): Uint8Array {
  const directory = Buffer.concat(entries.map(centralHeader));
  const end = Buffer.alloc(22);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(Math.min(entries.length, MAX_16), 8);
  end.writeUInt16LE(Math.min(entries.length, MAX_16), 10);
  end.writeUInt32LE(Math.min(directory.length, MAX_32), 12);
  end.writeUInt32LE(Math.min(size, MAX_32), 16);
  const isLarge = size >= MAX_32;
  return Buffer.concat([directory, ...(isLarge ? [end64(entries.length, directory.length, size)] : []), end]);
}

function centralHeader({ name, offset, crc, packedBytes, rawBytes }: ZipEntry): Buffer {
  const bytes = Buffer.from(name);
  // In this order, and only those that need it.
  const large = [rawBytes, packedBytes, offset].filter((each) => each >= MAX_32);
  const extra = Buffer.alloc(large.length === 0 ? 0 : 4 + 8 * large.length);
  if (large.length > 0) {
    extra.writeUInt16LE(ZIP64, 0);
    extra.writeUInt16LE(8 * large.length, 2);
    for (const [i, each] of large.entries()) extra.writeBigUInt64LE(BigInt(each), 4 + 8 * i);
  }
  const version = large.length === 0 ? VERSION : VERSION_64;
  const header = Buffer.alloc(46);
  header.writeUInt32LE(CENTRAL, 0);
  header.writeUInt16LE(MADE_BY | version, 4);
  header.writeUInt16LE(version, 6);
  header.writeUInt16LE(FLAGS, 8);
  header.writeUInt16LE(DEFLATE, 10);
  header.writeUInt16LE(DATE, 14);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(Math.min(packedBytes, MAX_32), 20);
  header.writeUInt32LE(Math.min(rawBytes, MAX_32), 24);
  header.writeUInt16LE(bytes.length, 28);
  header.writeUInt16LE(extra.length, 30);
  header.writeUInt32LE(MODE, 38);
  header.writeUInt32LE(Math.min(offset, MAX_32), 42);
  return Buffer.concat([header, bytes, extra]);
}

function end64(entries: number, directoryBytes: number, offset: number): Buffer {
  const end = Buffer.alloc(56 + 20);
  end.writeUInt32LE(END_64, 0);
  end.writeBigUInt64LE(44n, 4);
  end.writeUInt16LE(MADE_BY | VERSION_64, 12);
  end.writeUInt16LE(VERSION_64, 14);
  end.writeBigUInt64LE(BigInt(entries), 24);
  end.writeBigUInt64LE(BigInt(entries), 32);
  end.writeBigUInt64LE(BigInt(directoryBytes), 40);
  end.writeBigUInt64LE(BigInt(offset), 48);
  end.writeUInt32LE(LOCATOR_64, 56);
  end.writeBigUInt64LE(BigInt(offset + directoryBytes), 64);
  end.writeUInt32LE(1, 72);
  return end;
}
