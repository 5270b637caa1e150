// The files that somebody has chosen in the page: the archive of an export, or what was in it. They are read in slices and unpacked as
// streams, so that their size does not matter.

import { malformed } from '../errors.ts';
import { type ExportArchive, MANIFEST_NAME } from '../export/manifest.ts';
import { type ArchiveBytes, ZipArchive } from '../export/zip-archive.ts';

const ZIP_BEGIN = 'PK\u0003\u0004';
const SLICE_BYTES = 1_048_576;

/** The browser could not read a file; this says nothing about what is in it. */
export class FileUnreadable extends Error {}

export async function openChosen(files: readonly File[]): Promise<ExportArchive> {
  const [first] = files;
  if (files.length === 1 && first !== undefined && first.name !== MANIFEST_NAME) {
    if (await isZip(first)) return ZipArchive.open(new FileBytes(first));
    throw malformed(`${first.name} is no Zip archive; of one that is unpacked, choose all files together`);
  }
  const byName = new Map(files.map((file) => [file.name, file]));
  return {
    names: [...byName.keys()],
    entry(name) {
      const file = byName.get(name);
      if (file === undefined) throw malformed(`${name} is not among the chosen files`);
      return slicesOf(file);
    },
  };
}

async function isZip(file: Blob): Promise<boolean> {
  const head = await new FileBytes(file).at(0, ZIP_BEGIN.length);
  return String.fromCharCode(...head) === ZIP_BEGIN;
}

class FileBytes implements ArchiveBytes {
  readonly #file: Blob;

  constructor(file: Blob) {
    this.#file = file;
  }

  get size(): number {
    return this.#file.size;
  }

  at(offset: number, length: number): Promise<Uint8Array> {
    return read(this.#file.slice(offset, offset + length));
  }

  async *inflated(offset: number, length: number): AsyncGenerator<Uint8Array, void, undefined> {
    const inflate = new DecompressionStream('deflate-raw');
    let unreadable: unknown;
    const written = write(this.#file.slice(offset, offset + length), inflate).catch((error: unknown) => {
      if (error instanceof FileUnreadable) unreadable = error;
    });
    const reader = inflate.readable.getReader();
    try {
      for (let next = await reader.read(); next.value !== undefined; next = await reader.read())
        yield next.value;
      await written;
    } catch (error) {
      throw unreadable ?? error;
    } finally {
      await reader.cancel().catch(() => {});
    }
  }
}

async function write(file: Blob, { writable }: DecompressionStream): Promise<void> {
  const writer = writable.getWriter();
  try {
    for await (const slice of slicesOf(file)) {
      await writer.ready;
      await writer.write(slice);
    }
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
    throw error;
  }
}

async function* slicesOf(file: Blob): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < file.size; at += SLICE_BYTES) yield read(file.slice(at, at + SLICE_BYTES));
}

async function read(slice: Blob): Promise<Uint8Array> {
  try {
    return new Uint8Array(await slice.arrayBuffer());
  } catch (cause) {
    throw new FileUnreadable('the browser cannot read the file: was it moved or changed?', { cause });
  }
}
