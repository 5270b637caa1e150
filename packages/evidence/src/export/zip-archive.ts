// Reads the archive of an export: a Zip as exports write it and no other, so that no two programs can find different entries in it. The
// entries follow one another from the first byte on, deflated, and the directory says no less and no more. Nothing is unpacked but as a
// stream, and none beyond the size that the directory names, so a bomb takes time in proportion to its size and no memory.

import { EvidenceError, malformed } from '../errors.ts';

/** The bytes of a file, read and unpacked by what the host has. */
export interface ArchiveBytes {
  readonly size: number;
  /** Fewer bytes where the file ends before. */
  at(offset: number, length: number): Promise<Uint8Array>;
  /** What is deflated (RFC 1951) in exactly these bytes. Throws where they end before the deflated text does, or behind it. */
  inflated(offset: number, length: number): AsyncIterable<Uint8Array>;
}

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

export class ZipArchive {
  readonly #file: ArchiveBytes;
  readonly #entries: readonly Entry[];

  private constructor(file: ArchiveBytes, entries: readonly Entry[]) {
    this.#file = file;
    this.#entries = entries;
  }

  /** Throws for what is no archive of an export. */
  static async open(file: ArchiveBytes): Promise<ZipArchive> {
    return new ZipArchive(file, await entriesOf(file));
  }

  get names(): string[] {
    return this.#entries.map(({ name }) => name);
  }

  /** The bytes of an entry. */
  async *entry(name: string): AsyncGenerator<Uint8Array, void, undefined> {
    const entry = this.#entries.find((each) => each.name === name);
    if (entry === undefined) throw malformed(`the archive has no ${name.slice(0, 80)}`);
    const { offset, packedBytes, rawBytes } = entry;
    if (packedBytes === 0) throw malformed(`${name} is not deflated`);
    let bytes = 0;
    try {
      for await (const chunk of this.#file.inflated(offset + LOCAL_BYTES + name.length, packedBytes)) {
        bytes += chunk.length;
        if (bytes > rawBytes) throw malformed(`${name} is larger than the archive says`);
        yield chunk;
      }
    } catch (error) {
      if (error instanceof EvidenceError) throw error;
      throw malformed(`${name} cannot be unpacked`, error);
    }
    if (bytes !== rawBytes) throw malformed(`${name} is not of the size that the archive says`);
  }
}

async function entriesOf(file: ArchiveBytes): Promise<Entry[]> {
  const { count, from, bytes } = await directoryOf(file);
  if (bytes > DIRECTORY_BYTES_MAX) throw malformed('the archive has more entries than an export has');
  const directory = await Fields.at(file, from, bytes);
  const entries: Entry[] = [];
  let [at, end] = [0, 0];
  while (at < bytes) {
    const { entry, next } = centralEntry(directory, at);
    if (entry.offset !== end) throw malformed(`${entry.name} does not stand behind what is before it`);
    await requireLocal(file, entry);
    end += LOCAL_BYTES + entry.name.length + entry.packedBytes + descriptorBytes(entry);
    entries.push(entry);
    at = next;
  }
  const names = new Set(entries.map(({ name }) => name));
  if (end !== from || entries.length !== count || names.size !== count)
    throw malformed('the directory of the archive does not name exactly its entries');
  return entries;
}

async function directoryOf(file: ArchiveBytes) {
  const { size } = file;
  const end = await Fields.at(file, size - END_BYTES, END_BYTES);
  if (end.u32(0) !== END || end.u16(20) !== 0) throw new EvidenceError('TRUNCATED', 'the archive has no end');
  const count = end.u16(8);
  const [bytes, offset] = [end.u32(12), end.u32(16)];
  if (offset < MAX_32) {
    if (offset + bytes !== size - END_BYTES) throw malformed('its directory does not end the archive');
    return { count, from: offset, bytes };
  }
  const at = size - END_BYTES - END_64_BYTES;
  const large = await Fields.at(file, at, END_64_BYTES);
  const from = large.u64(48);
  const isSound =
    large.u32(0) === END_64 &&
    large.u32(56) === LOCATOR_64 &&
    large.u64(64) === at &&
    large.u64(40) === bytes &&
    large.u64(32) === count &&
    from + bytes === at;
  if (!isSound) throw malformed('its directory does not end the archive');
  return { count, from, bytes };
}

function centralEntry(directory: Fields, at: number): { readonly entry: Entry; readonly next: number } {
  if (at + CENTRAL_BYTES > directory.length || directory.u32(at) !== CENTRAL)
    throw malformed('the directory of the archive cannot be read');
  const [nameBytes, extraBytes] = [directory.u16(at + 28), directory.u16(at + 30)];
  const extraAt = at + CENTRAL_BYTES + nameBytes;
  const next = extraAt + extraBytes;
  const name = directory.text(at + CENTRAL_BYTES, nameBytes);
  const isOurs =
    next <= directory.length &&
    directory.u16(at + 8) === FLAGS &&
    directory.u16(at + 10) === DEFLATE &&
    directory.u16(at + 32) === 0 &&
    /^[a-z0-9.-]{1,80}$/.test(name);
  if (!isOurs) throw malformed('the archive has an entry that no export writes');
  let used = 4;
  const sizeAt = (field: number): number => {
    const short = directory.u32(at + field);
    if (short < MAX_32) return short;
    if (extraBytes < used + 8 || directory.u16(extraAt) !== 1) throw malformed(`${name} has no size`);
    used += 8;
    return directory.u64(extraAt + used - 8);
  };
  const [rawBytes, packedBytes, offset] = [sizeAt(24), sizeAt(20), sizeAt(42)];
  return { entry: { name, rawBytes, packedBytes, offset }, next };
}

/** What programs that read from the beginning see must be the same. */
async function requireLocal(file: ArchiveBytes, { name, offset }: Entry): Promise<void> {
  const header = await Fields.at(file, offset, LOCAL_BYTES + name.length);
  const isSame =
    header.u32(0) === LOCAL &&
    header.u16(6) === FLAGS &&
    header.u16(8) === DEFLATE &&
    header.u16(26) === name.length &&
    header.u16(28) === 0 &&
    header.text(LOCAL_BYTES, name.length) === name;
  if (!isSame) throw malformed(`${name} does not begin where the archive says`);
}

function descriptorBytes({ packedBytes, rawBytes }: Entry): number {
  return packedBytes >= MAX_32 || rawBytes >= MAX_32 ? 24 : 16;
}

/** Little-endian numbers and texts in bytes. */
class Fields {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  static async at(file: ArchiveBytes, offset: number, length: number): Promise<Fields> {
    const bytes = offset < 0 ? undefined : await file.at(offset, length);
    if (bytes?.length === length) return new Fields(bytes);
    throw new EvidenceError('TRUNCATED', 'the archive ends before its time');
  }

  get length(): number {
    return this.#bytes.length;
  }

  u16(at: number): number {
    return this.#view.getUint16(at, true);
  }

  u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  u64(at: number): number {
    return Number(this.#view.getBigUint64(at, true));
  }

  text(at: number, length: number): string {
    return String.fromCharCode(...this.#bytes.subarray(at, at + length));
  }
}
