// Writes a bundle as a stream of byte chunks; the caller puts them wherever it likes. Each method returns
// the bytes of one line. The checksum runs along, so memory stays constant whatever the size.

import {
  type BundleHeader,
  type EntryLine,
  formatEntryLine,
  formatHeader,
  formatNoticeLine,
  formatTrailer,
  LINE_BYTES_MAX,
} from './bundle-line.ts';
import { toHex, utf8 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { Sha256Stream } from '../hash/sha256.ts';

/** A running SHA-256; the package's own unless the host has a faster one. */
export interface RunningHash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

export class BundleWriter {
  readonly #hash: RunningHash;
  #entries = 0;

  constructor(hash: RunningHash = new Sha256Stream()) {
    this.#hash = hash;
  }

  header(header: BundleHeader): Uint8Array {
    return this.#line(formatHeader(header));
  }

  entry(line: EntryLine): Uint8Array {
    this.#entries++;
    return this.#line(formatEntryLine(line));
  }

  notice(line: EntryLine): Uint8Array {
    return this.#line(formatNoticeLine(line));
  }

  trailer(proof: readonly Uint8Array[], checkpoint: string): Uint8Array {
    const sha256 = toHex(this.#hash.digest());
    return utf8(`${formatTrailer({ entries: this.#entries, proof, checkpoint, sha256 })}\n`);
  }

  #line(text: string): Uint8Array {
    const bytes = utf8(`${text}\n`);
    if (bytes.length > LINE_BYTES_MAX + 1) {
      throw new EvidenceError('MALFORMED', `a line of ${bytes.length} bytes; limit ${LINE_BYTES_MAX}`);
    }
    this.#hash.update(bytes);
    return bytes;
  }
}
