// Writes a bundle as a stream of byte chunks; the caller puts them wherever it likes. Each method returns
// the bytes of one line. The checksum runs along, so memory stays constant for any size.

import {
  type BundleHeader,
  type EntryLine,
  formatHeader,
  formatTrailer,
  LINE_BYTES_MAX,
} from './bundle-line.ts';
import { toBase64, toHex, utf8 } from '../bytes.ts';
import { malformed } from '../errors.ts';
import { listsOf } from '../event/show-event.ts';
import { type RunningHash, Sha256Stream } from '../hash/sha256.ts';

export class BundleWriter {
  readonly #hash: RunningHash;
  #entries: number;

  /** With the hash of the lines that were written before, and the number of entries among them, it goes on behind them. */
  constructor(hash: RunningHash = new Sha256Stream(), entries = 0) {
    this.#hash = hash;
    this.#entries = entries;
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
    if (bytes.length > LINE_BYTES_MAX + 1)
      throw malformed(`a line of ${bytes.length} bytes; limit ${LINE_BYTES_MAX}`);
    this.#hash.update(bytes);
    return bytes;
  }
}

export function formatEntryLine(line: EntryLine): string {
  const { open, closed, groups } = listsOf(line.shown);
  const { deleted, inclusion } = line;
  return JSON.stringify({
    e: toBase64(line.entry),
    o: open,
    c: closed,
    g: groups,
    // What is not there is left out.
    d: deleted,
    i: inclusion?.map(toBase64),
  });
}

export function formatNoticeLine(line: EntryLine): string {
  const inclusion = (line.inclusion ?? []).map(toBase64);
  return JSON.stringify({ k: toBase64(line.entry), o: listsOf(line.shown).open, i: inclusion });
}
