// The file of an export, sealed under a key of its own that its record has in a box: who reads the disk or a copy of it learns nothing.
// It is a row of frames, so that it can be read from any place, and go on where a crash has left it:
//
//   frame = length of the text, 4 bytes, big-endian ‖ nonce[12] ‖ AES-256-GCM( text ) ‖ tag[16]
//   AAD   = "tallystick:export" ‖ NUL ‖ id of the run ‖ NUL ‖ number of the frame
//
// Nonces are random. Frames that are missing at the end are noticed by the size that the record has.

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { giveBack } from '../../runtime/give-back.ts';
import type { Random } from '../../runtime/random.ts';

export interface SealedFilePlace {
  readonly path: string;
  readonly key: Uint8Array;
  /** Each run writes a file of its own. */
  readonly runId: string;
}

/** It differs from what was written: see ALTERED_FILE in exports/export-files.ts. */
class AlteredFile extends Error {
  readonly code = 'ALTERED_FILE';
}

const CIPHER = 'aes-256-gcm';
const LENGTH_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = LENGTH_BYTES + NONCE_BYTES;
/** As much is in memory at once when it is read. */
const FRAME_BYTES_MAX = 1024 * 1024;

export class SealedFileWriter implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #frames: Frames;
  readonly #random: Pick<Random, 'bytes'>;
  #number = 0;

  private constructor(file: FileHandle, frames: Frames, random: Pick<Random, 'bytes'>) {
    this.#file = file;
    this.#frames = frames;
    this.#random = random;
  }

  /** Fails if the file exists. */
  static async create(place: SealedFilePlace, random: Pick<Random, 'bytes'>): Promise<SealedFileWriter> {
    return new SealedFileWriter(await open(place.path, 'wx', 0o600), new Frames(place), random);
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += FRAME_BYTES_MAX) {
      const nonce = this.#random.bytes(NONCE_BYTES);
      const frame = this.#frames.seal(bytes.subarray(at, at + FRAME_BYTES_MAX), this.#number, nonce);
      await this.#file.writeFile(frame);
      giveBack(frame);
      this.#number += 1;
    }
  }

  sync(): Promise<void> {
    return this.#file.datasync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

interface Frame {
  readonly number: number;
  /** In the file, and in the text. */
  readonly at: number;
  readonly textAt: number;
  readonly length: number;
}

/** The text from `from` to `end`; throws AlteredFile where it is not all there as it was written. */
export async function* readSealed(
  place: SealedFilePlace,
  from: number,
  end: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  await using file = await open(place.path, 'r');
  const frames = new Frames(place);
  let textAt = 0;
  for await (const frame of framesOf(file)) {
    if (textAt >= end) return;
    textAt = frame.textAt + frame.length;
    if (textAt <= from) continue;
    const sealed = Buffer.alloc(HEAD_BYTES + frame.length + TAG_BYTES);
    const { bytesRead } = await file.read(sealed, 0, sealed.length, frame.at);
    if (bytesRead < sealed.length) break;
    const text = frames.open(sealed, frame.number);
    yield text.subarray(Math.max(0, from - frame.textAt), Math.min(frame.length, end - frame.textAt));
  }
  if (textAt < end) throw new AlteredFile(`it ends after ${textAt} of ${end} bytes`);
}

async function* framesOf(file: FileHandle): AsyncGenerator<Frame, void, undefined> {
  const head = Buffer.alloc(LENGTH_BYTES);
  let [at, textAt] = [0, 0];
  for (let number = 0; ; number++) {
    const { bytesRead } = await file.read(head, 0, LENGTH_BYTES, at);
    if (bytesRead < LENGTH_BYTES) return;
    const length = head.readUInt32BE(0);
    if (length > FRAME_BYTES_MAX) throw new AlteredFile(`frame ${number} says that it is of ${length} bytes`);
    yield { number, at, textAt, length };
    at += HEAD_BYTES + length + TAG_BYTES;
    textAt += length;
  }
}

class Frames {
  readonly #key: KeyObject;
  readonly #runId: string;

  constructor({ key, runId }: SealedFilePlace) {
    this.#key = createSecretKey(key);
    this.#runId = runId;
  }

  seal(text: Uint8Array, number: number, nonce: Uint8Array): Buffer {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(text.length);
    const cipher = createCipheriv(CIPHER, this.#key, nonce);
    cipher.setAAD(this.#boundTo(number));
    const sealed = cipher.update(text);
    const frame = Buffer.concat([length, nonce, sealed, cipher.final(), cipher.getAuthTag()]);
    giveBack(sealed);
    return frame;
  }

  open(sealed: Buffer, number: number): Buffer {
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, sealed.subarray(LENGTH_BYTES, HEAD_BYTES));
      decipher.setAAD(this.#boundTo(number));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const text = decipher.update(sealed.subarray(HEAD_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]);
    } catch (error) {
      throw new AlteredFile(`frame ${number} is not as it was written`, { cause: error });
    }
  }

  #boundTo(number: number): Buffer {
    return Buffer.from(`tallystick:export\0${this.#runId}\0${number}`);
  }
}
