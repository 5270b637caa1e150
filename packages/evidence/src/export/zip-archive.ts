// Reads the archive of an export: a Zip as exports write it and no other, so that no two programs can find different entries in it. The
// entries follow one another from the first byte on, deflated, and the directory says no less and no more. Nothing is unpacked but as a
// stream, and none beyond the size that the directory names, so a bomb takes time in proportion to its size and no memory.

import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { EvidenceError } from '@tallystick/evidence';

interface Entry {
  readonly name: string;
  readonly offset: number;
  readonly packedBytes: number;
  readonly rawBytes: number;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const END_64_BYTES = 56 + 20;
const FLAGS = 0x0808;
const DEFLATE = 8;
const MAX_32 = 0xffffffff;
const DIRECTORY_BYTES_MAX = 65_536;
const CHUNK_BYTES = 262_144;

export class ZipReader implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #entries: readonly Entry[];

  private constructor(file: FileHandle, entries: readonly Entry[]) {
    this.#file = file;
    this.#entries = entries;
  }

  /** Throws EvidenceError for what is no archive of an export. */
  static async open(path: string): Promise<ZipReader> {
    const file = await open(path, 'r');
    try {
      return new ZipReader(file, await entriesOf(file));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get names(): string[] {
    return this.#entries.map(({ name }) => name);
  }

  /** The bytes of an entry. */
  async *read(name: string): AsyncGenerator<Uint8Array, void, undefined> {
    const entry = this.#entries.find((each) => each.name === name);
    if (entry === undefined) throw malformed(`the archive has no ${name.slice(0, 80)}`);
    const { offset, packedBytes, rawBytes } = entry;
    const start = offset + LOCAL_BYTES + Buffer.byteLength(name);
    if (packedBytes === 0) throw malformed(`${name} is not deflated`);
    const packed = this.#file.createReadStream({
      start,
      end: start + packedBytes - 1,
      autoClose: false,
      highWaterMark: CHUNK_BYTES,
    });
    const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES });
    // Whoever reads it is told of the error.
    pipeline(packed, inflate, () => {});
    let bytes = 0;
    try {
      for await (const chunk of inflate as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > rawBytes) throw malformed(`${name} is larger than the archive says`);
        yield chunk;
      }
    } catch (error) {
      if (error instanceof EvidenceError) throw error;
      throw malformed(`${name} cannot be unpacked`, error);
    }
    if (bytes !== rawBytes || inflate.bytesWritten !== packedBytes)
      throw malformed(`${name} is not of the size that the archive says`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

async function entriesOf(file: FileHandle): Promise<Entry[]> {
  const { size } = await file.stat();
  const { count, from, bytes } = await directoryOf(file, size);
  if (bytes > DIRECTORY_BYTES_MAX) throw malformed('the archive has more entries than an export has');
  const directory = await bytesAt(file, from, bytes);
  const entries: Entry[] = [];
  let [at, end] = [0, 0];
  while (at < bytes) {
    const { entry, next } = centralEntry(directory, at);
    if (entry.offset !== end) throw malformed(`${entry.name} does not stand behind what is before it`);
    await requireLocal(file, entry);
    end += LOCAL_BYTES + Buffer.byteLength(entry.name) + entry.packedBytes + descriptorBytes(entry);
    entries.push(entry);
    at = next;
  }
  const names = new Set(entries.map(({ name }) => name));
  if (end !== from || entries.length !== count || names.size !== count)
    throw malformed('the directory of the archive does not name exactly its entries');
  return entries;
}

async function directoryOf(file: FileHandle, size: number) {
  const end = await bytesAt(file, size - END_BYTES, END_BYTES);
  if (end.readUInt32LE(0) !== END || end.readUInt16LE(20) !== 0)
    throw new EvidenceError('TRUNCATED', 'the archive has no end');
  const count = end.readUInt16LE(8);
  const [bytes, offset] = [end.readUInt32LE(12), end.readUInt32LE(16)];
  if (offset < MAX_32) {
    if (offset + bytes !== size - END_BYTES) throw malformed('its directory does not end the archive');
    return { count, from: offset, bytes };
  }
  const at = size - END_BYTES - END_64_BYTES;
  const large = await bytesAt(file, at, END_64_BYTES);
  const from = Number(large.readBigUInt64LE(48));
  const isSound =
    large.readUInt32LE(0) === END_64 &&
    large.readUInt32LE(56) === LOCATOR_64 &&
    Number(large.readBigUInt64LE(64)) === at &&
    Number(large.readBigUInt64LE(40)) === bytes &&
    Number(large.readBigUInt64LE(32)) === count &&
    from + bytes === at;
  if (!isSound) throw malformed('its directory does not end the archive');
  return { count, from, bytes };
}

function centralEntry(directory: Buffer, at: number): { readonly entry: Entry; readonly next: number } {
  if (at + CENTRAL_BYTES > directory.length || directory.readUInt32LE(at) !== CENTRAL)
    throw malformed('the directory of the archive cannot be read');
  const [nameBytes, extraBytes] = [directory.readUInt16LE(at + 28), directory.readUInt16LE(at + 30)];
  const next = at + CENTRAL_BYTES + nameBytes + extraBytes;
  const name = directory.toString('latin1', at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameBytes);
  const isOurs =
    next <= directory.length &&
    directory.readUInt16LE(at + 8) === FLAGS &&
    directory.readUInt16LE(at + 10) === DEFLATE &&
    directory.readUInt16LE(at + 32) === 0 &&
    /^[a-z0-9.-]{1,80}$/.test(name);
  if (!isOurs) throw malformed('the archive has an entry that no export writes');
  const extra = directory.subarray(at + CENTRAL_BYTES + nameBytes, next);
  let used = 4;
  const sizeAt = (field: number): number => {
    const short = directory.readUInt32LE(at + field);
    if (short < MAX_32) return short;
    if (extra.length < used + 8 || extra.readUInt16LE(0) !== 1) throw malformed(`${name} has no size`);
    used += 8;
    return Number(extra.readBigUInt64LE(used - 8));
  };
  const [rawBytes, packedBytes, offset] = [sizeAt(24), sizeAt(20), sizeAt(42)];
  return { entry: { name, rawBytes, packedBytes, offset }, next };
}

/** What programs that read from the beginning see must be the same. */
async function requireLocal(file: FileHandle, { name, offset }: Entry): Promise<void> {
  const header = await bytesAt(file, offset, LOCAL_BYTES + name.length);
  const isSame =
    header.readUInt32LE(0) === LOCAL &&
    header.readUInt16LE(6) === FLAGS &&
    header.readUInt16LE(8) === DEFLATE &&
    header.readUInt16LE(26) === name.length &&
    header.readUInt16LE(28) === 0 &&
    header.toString('latin1', LOCAL_BYTES) === name;
  if (!isSame) throw malformed(`${name} does not begin where the archive says`);
}

function descriptorBytes({ packedBytes, rawBytes }: Entry): number {
  return packedBytes >= MAX_32 || rawBytes >= MAX_32 ? 24 : 16;
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = at < 0 ? { bytesRead: -1 } : await file.read(bytes, 0, length, at);
  if (bytesRead === length) return bytes;
  throw new EvidenceError('TRUNCATED', 'the archive ends before its time');
}

function malformed(message: string, cause?: unknown): EvidenceError {
  return new EvidenceError('MALFORMED', message, { cause });
}
