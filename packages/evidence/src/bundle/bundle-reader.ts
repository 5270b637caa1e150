// Splits a bundle into its lines as chunks of bytes come in, and keeps the checksum of all bytes before the
// trailer. A line is held only until it is whole, so memory stays constant.

import { LINE_BYTES_MAX } from './bundle-line.ts';
import { concat, toHex, utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import type { RunningHash } from '../hash/sha256.ts';

const NEWLINE = 0x0a;
const TOO_LONG = `it is over ${LINE_BYTES_MAX} bytes`;
const TRAILER_START = utf8('{"entries":');

export class BundleReader {
  readonly #hash: RunningHash;
  /** The pieces of a line that is not whole yet. */
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #ended = false;
  #lines = 0;

  constructor(hash: RunningHash) {
    this.#hash = hash;
  }

  /** How many lines there were so far. */
  get lines(): number {
    return this.#lines;
  }

  /** The lines that this chunk completes, in order, without their newlines; the trailer is the last there can be. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const tail = chunk.subarray(start, end + 1);
      yield this.#next(this.#restBytes === 0 ? tail : concat(...this.#rest, tail));
      this.#rest = [];
      this.#restBytes = 0;
      start = end + 1;
    }
    if (start === chunk.length) return;
    // A copy, since the caller may reuse the chunk's memory.
    this.#rest.push(chunk.slice(start));
    this.#restBytes += chunk.length - start;
    if (this.#restBytes <= LINE_BYTES_MAX) return;
    this.#lines++;
    throw this.#fault(TOO_LONG);
  }

  #next(line: Uint8Array): Uint8Array {
    this.#lines++;
    if (line.length > LINE_BYTES_MAX + 1) throw this.#fault(TOO_LONG);
    if (this.#ended) throw this.#fault('it stands after the trailer');
    this.#ended = TRAILER_START.every((byte, i) => line[i] === byte);
    if (!this.#ended) this.#hash.update(line);
    return line.subarray(0, -1);
  }

  #fault(message: string): EvidenceError {
    return new EvidenceError('MALFORMED', `line ${this.#lines}: ${message}`, { line: this.#lines });
  }

  /** Hex of the checksum, once the trailer has been read. */
  end(): string {
    if (!this.#ended || this.#restBytes > 0)
      throw new EvidenceError('TRUNCATED', 'the bundle ends before its trailer does');
    return toHex(this.#hash.digest());
  }
}
