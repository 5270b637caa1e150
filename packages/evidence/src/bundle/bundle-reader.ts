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
    /** Up to here the chunk is in the checksum: whole lines are added together, which is faster than one by one. */
    let summed = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = this.#whole(chunk.subarray(start, end + 1));
      if (isTrailer(line)) this.#hash.update(chunk.subarray(summed, start));
      else if (start === 0) {
        // What came of it before has waited: it could have been the trailer.
        this.#hash.update(line);
        summed = end + 1;
      }
      yield this.#next(line);
      start = end + 1;
    }
    if (!this.#ended) this.#hash.update(chunk.subarray(summed, start));
    if (start === chunk.length) return;
    // A copy, since whoever reads a file may use the chunk's memory again.
    this.#rest.push(chunk.slice(start));
    this.#restBytes += chunk.length - start;
    if (this.#restBytes <= LINE_BYTES_MAX) return;
    this.#lines++;
    throw this.#fault(TOO_LONG);
  }

  /** A line with what came of it before. */
  #whole(end: Uint8Array): Uint8Array {
    if (this.#rest.length === 0) return end;
    const line = concat(...this.#rest, end);
    this.#rest = [];
    this.#restBytes = 0;
    return line;
  }

  #next(line: Uint8Array): Uint8Array {
    this.#lines++;
    if (line.length > LINE_BYTES_MAX + 1) throw this.#fault(TOO_LONG);
    if (this.#ended) throw this.#fault('it stands after the trailer');
    this.#ended = isTrailer(line);
    return line.subarray(0, -1);
  }

  #fault(message: string): EvidenceError {
    return new EvidenceError('MALFORMED', `line ${this.#lines}: ${message}`, { line: this.#lines });
  }

  /** Hex of the checksum, once the trailer has been read. */
  end(): string {
    if (!this.#ended || this.#restBytes > 0) {
      throw new EvidenceError('TRUNCATED', 'the bundle ends before its trailer does');
    }
    return toHex(this.#hash.digest());
  }
}

function isTrailer(line: Uint8Array): boolean {
  return TRAILER_START.every((byte, i) => line[i] === byte);
}
