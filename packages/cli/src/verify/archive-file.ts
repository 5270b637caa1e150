// The archive of an export as a file: read at any place, and unpacked by zlib.

import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import type { ArchiveBytes } from '@tallystick/evidence';

const CHUNK_BYTES = 262_144;

export class ArchiveFile implements ArchiveBytes, AsyncDisposable {
  readonly #file: FileHandle;
  readonly size: number;

  private constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.size = size;
  }

  static async open(path: string): Promise<ArchiveFile> {
    const file = await open(path, 'r');
    return new ArchiveFile(file, (await file.stat()).size);
  }

  async at(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    const { bytesRead } = await this.#file.read(bytes, 0, length, offset);
    return bytes.subarray(0, bytesRead);
  }

  async *inflated(offset: number, length: number): AsyncGenerator<Uint8Array, void, undefined> {
    const packed = this.#file.createReadStream({
      start: offset,
      end: offset + length - 1,
      autoClose: false,
      highWaterMark: CHUNK_BYTES,
    });
    const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES });
    // The reader of `inflate` is told of the error.
    pipeline(packed, inflate, () => {});
    yield* inflate as AsyncIterable<Buffer>;
    if (inflate.bytesWritten !== length) throw new Error('bytes are left behind the deflated text');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
