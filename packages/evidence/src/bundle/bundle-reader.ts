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
  /** The pieces of a line that is not whole yet. */
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #ended = false;

  constructor(hash: RunningHash) {
    this.#hash = hash;
  }

  /** The lines that this chunk completes, in order; the trailer is the last one there can be. */
  *push(chunk: Uint8Array): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield this.#line(this.#taken(chunk.subarray(start, end + 1)));
      start = end + 1;
    }
    if (start === chunk.length) return;
    // A copy, since whoever reads a file may use the chunk's memory again.
    this.#rest.push(chunk.slice(start));
    this.#restBytes += chunk.length - start;
    if (this.#restBytes > LINE_BYTES_MAX) throw tooLong();
  }

  #taken(end: Uint8Array): Uint8Array {
    if (this.#rest.length === 0) return end;
    const line = concat(...this.#rest, end);
    this.#rest = [];
    this.#restBytes = 0;
    return line;
  }

  #line(line: Uint8Array): string {
    if (line.length > LINE_BYTES_MAX + 1) throw tooLong();
    if (this.#ended) throw new EvidenceError('MALFORMED', 'there are lines after the trailer');
    this.#ended = isTrailer(line);
    if (!this.#ended) this.#hash.update(line);
    return textOf(line.subarray(0, -1));
  }

  /** Hex of the checksum, once the trailer has been read. */
  end(): string {
    if (!this.#ended || this.#restBytes > 0) {
      throw new EvidenceError('TRUNCATED', 'the bundle ends before its trailer does');
    }
    return toHex(this.#hash.digest());
  }
}

function tooLong(): EvidenceError {
  return new EvidenceError('MALFORMED', `a line is over ${LINE_BYTES_MAX} bytes`);
}

function isTrailer(line: Uint8Array): boolean {
  return TRAILER_START.every((byte, i) => line[i] === byte);
}
