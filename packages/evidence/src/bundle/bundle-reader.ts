// Splits a bundle into its lines as chunks of bytes come in, and keeps the checksum of all bytes before the
// trailer. A line is held only until it is whole, so memory stays constant.

import { LINE_BYTES_MAX } from './bundle-line.ts';
import type { RunningHash } from './bundle-writer.ts';
import { concat, textOf, toHex, utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';

const NEWLINE = 0x0a;
const TRAILER_START = utf8('{"entries":');

export class BundleReader {
  readonly #hash: RunningHash;
  #rest: Uint8Array = new Uint8Array(0);
  #ended = false;

  constructor(hash: RunningHash) {
    this.#hash = hash;
  }

  /** The lines that this chunk completes, in order; the trailer is the last one there can be. */
  *push(chunk: Uint8Array): Generator<string> {
    const bytes = this.#rest.length === 0 ? chunk : concat(this.#rest, chunk);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      if (end - start > LINE_BYTES_MAX) throw tooLong();
      if (this.#ended) throw new EvidenceError('MALFORMED', 'there are lines after the trailer');
      if (isTrailer(bytes, start)) {
        this.#ended = true;
        this.#hash.update(bytes.subarray(0, start));
      }
      yield textOf(bytes.subarray(start, end));
      start = end + 1;
    }
    if (!this.#ended) this.#hash.update(bytes.subarray(0, start));
    this.#rest = bytes.slice(start);
    if (this.#rest.length > LINE_BYTES_MAX) throw tooLong();
  }

  /** Hex of the checksum, once the trailer has been read. */
  end(): string {
    if (!this.#ended || this.#rest.length > 0) {
      throw new EvidenceError('TRUNCATED', 'the bundle ends before its trailer does');
    }
    return toHex(this.#hash.digest());
  }
}

function tooLong(): EvidenceError {
  return new EvidenceError('MALFORMED', `a line is over ${LINE_BYTES_MAX} bytes`);
}

function isTrailer(bytes: Uint8Array, start: number): boolean {
  return TRAILER_START.every((byte, i) => bytes[start + i] === byte);
}
