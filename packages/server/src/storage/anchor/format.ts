// The form of the anchor file: lines of ASCII that a person can read and check. After its first line come records,
// one per append, each of them head lines and a line that closes it:
//
//   tallystick-anchor/1
//   <origin> <size> <base64 of the root>
//   = <number of head lines> <hex SHA-256 of everything from the line that closes the record before, or from the
//     first line of the file, up to and with the space before this checksum>
//
// so that each checksum covers the one before it. Sizes of one origin ascend. A record that a crash cut short is told
// from one that was changed: it is the last, and the beginning of a record, or has runs of zeros in the place of
// blocks that were never written. All other faults name their line.

import { hash } from 'node:crypto';
import { HASH_BYTES } from '@tallystick/evidence';
import type { AnchoredHead, AnchorHistory } from '../../streams/anchor/anchor.ts';

export const FIRST_LINE = 'tallystick-anchor/1\n';

const ORIGIN = /^[\x21-\x7e]+$/;
const HEAD_LINE = /^([\x21-\x7e]+) (0|[1-9]\d{0,15}) ([A-Za-z0-9+/]{43}=)$/;
const CLOSING_LINE = /^= ([1-9]\d*) ([0-9a-f]{64})$/;
/** The beginnings of these two. */
const CUT_CLOSING = /^= ([1-9]\d*( [0-9a-f]{0,64})?)?$/;
const CUT_HEAD = /^[\x21-\x7e]+( ((0|[1-9]\d{0,15})( ([A-Za-z0-9+/]{0,43}|[A-Za-z0-9+/]{43}=))?)?)?$/;
/** No disk writes less than this at a time. */
const SECTOR_BYTES = 512;

export interface AnchorContent {
  /** The newest by origin. */
  readonly heads: ReadonlyMap<string, AnchoredHead>;
  /** All by origin, ascending. */
  readonly history: AnchorHistory;
  /** Where its last whole record begins; where it has none, the first line. */
  readonly lastAt: number;
  /** Length of the file up to the end of its last whole record. */
  readonly bytes: number;
  /** The line that closes the last record, or the first line of the file: what the next checksum begins with. */
  readonly closing: string;
}

export class AnchorDamage extends Error {
  override readonly name = 'AnchorDamage';
  readonly line: number;

  constructor(line: number, message: string) {
    super(`line ${line} ${message}`);
    this.line = line;
  }
}

export function headLine({ origin, size, root }: AnchoredHead): string {
  if (!ORIGIN.test(origin) || origin === '=')
    throw new Error(`${JSON.stringify(origin)} cannot be an origin: it is visible ASCII, and not = alone`);
  if (!Number.isSafeInteger(size) || size < 0)
    throw new Error(`the size of ${origin} is ${size}; it is 0 to 2^53 - 1`);
  if (root.length !== HASH_BYTES)
    throw new Error(`the root of ${origin} is ${root.length} bytes, not ${HASH_BYTES}`);
  return `${origin} ${size} ${Buffer.from(root.buffer, root.byteOffset, root.length).toString('base64')}\n`;
}

/** A record as text, and the line that closes it. */
export function formatRecord(
  heads: readonly AnchoredHead[],
  closingBefore: string,
): { readonly text: string; readonly closing: string } {
  const lines = heads.map(headLine).join('');
  const opening = `= ${heads.length} `;
  const closing = `${opening}${hash('sha256', closingBefore + lines + opening)}\n`;
  return { text: lines + closing, closing };
}

/** A file that holds these heads and nothing else. */
export function formatAnchor(heads: readonly AnchoredHead[]): string {
  return heads.length === 0 ? FIRST_LINE : FIRST_LINE + formatRecord(heads, FIRST_LINE).text;
}

/** Up to where a file was read. */
export type AnchorPosition = Pick<AnchorContent, 'heads' | 'bytes' | 'closing'>;

const START: AnchorPosition = { heads: new Map(), bytes: FIRST_LINE.length, closing: FIRST_LINE };

/**
 * Reads a whole file, or the bytes that follow a position; then lines are counted from there. An incomplete last
 * record is left out if a crash can have cut it short. Throws AnchorDamage for all other faults.
 */
export function readAnchor(bytes: Buffer, before?: AnchorPosition): AnchorContent {
  if (before !== undefined) {
    // Reading resumes as it starts: behind the line that the next checksum covers.
    const covered = Buffer.concat([Buffer.from(before.closing, 'latin1'), bytes]);
    return new AnchorReader(covered, before).read();
  }
  if (!bytes.subarray(0, FIRST_LINE.length).equals(Buffer.from(FIRST_LINE)))
    throw new AnchorDamage(1, `is not ${FIRST_LINE.trim()}: this is no anchor of this version`);
  return new AnchorReader(bytes, START).read();
}

class AnchorReader {
  readonly #bytes: Buffer;
  readonly #text: string;
  readonly #known: AnchorPosition['heads'];
  readonly #history = new Map<string, AnchoredHead[]>();
  /** Where the first of these bytes is in the file. */
  readonly #fromAt: number;
  #line = 1;
  #at: number;
  /** Where the checksum of the record that is read now begins. */
  #closingAt = 0;

  constructor(bytes: Buffer, before: AnchorPosition) {
    this.#bytes = bytes;
    // One character per byte, so that places in the text are places in the bytes.
    this.#text = bytes.toString('latin1');
    this.#at = before.closing.length;
    this.#fromAt = before.bytes - this.#at;
    this.#known = before.heads;
  }

  read(): AnchorContent {
    let lastAt = 0;
    let end = this.#at;
    try {
      while (this.#at < this.#text.length && this.#readRecord()) [lastAt, end] = [end, this.#at];
    } catch (error) {
      if (!(error instanceof AnchorDamage) || !hasUnwrittenBlock(this.#bytes, end, this.#fromAt)) throw error;
    }
    return {
      heads: newestIn(this.#history),
      history: this.#history,
      lastAt: this.#fromAt + lastAt,
      bytes: this.#fromAt + end,
      closing: copied(this.#text.slice(this.#closingAt, end)),
    };
  }

  /** False when the file ends inside the record; its heads count only when it is whole. */
  #readRecord(): boolean {
    const firstLine = this.#line + 1;
    const heads: AnchoredHead[] = [];
    for (;;) {
      const lineAt = this.#at;
      const endAt = this.#text.indexOf('\n', lineAt);
      this.#line++;
      if (endAt < 0) {
        if (!isBeginning(this.#text.slice(lineAt))) throw this.#damage('is neither a head nor a checksum');
        return false;
      }
      this.#at = endAt + 1;
      const line = this.#text.slice(lineAt, endAt);
      if (line.startsWith('= ')) {
        this.#requireChecksum(line, lineAt, { firstLine, headCount: heads.length });
        for (const head of heads) this.#take(head);
        this.#closingAt = lineAt;
        return true;
      }
      const [, origin, size, root] = HEAD_LINE.exec(line) ?? [];
      if (origin === undefined || root === undefined) throw this.#damage('is neither a head nor a checksum');
      heads.push({ origin, size: Number(size), root: new Uint8Array(Buffer.from(root, 'base64')) });
    }
  }

  #requireChecksum(
    line: string,
    lineAt: number,
    { firstLine, headCount }: { firstLine: number; headCount: number },
  ): void {
    const [, count, checksum] = CLOSING_LINE.exec(line) ?? [];
    if (count === undefined || checksum === undefined) throw this.#damage('is no checksum');
    const covered = this.#bytes.subarray(this.#closingAt, lineAt + line.length - checksum.length);
    if (Number(count) !== headCount || hash('sha256', covered) !== checksum)
      throw this.#damage(`is not the checksum of the lines from ${firstLine} on`);
  }

  #take({ origin: slice, size, root }: AnchoredHead): void {
    const heads = this.#history.get(slice) ?? [];
    const last = heads.at(-1) ?? this.#known.get(slice);
    if (last !== undefined && size <= last.size)
      throw this.#damage(`closes heads of which ${slice} goes from ${last.size} to ${size}`);
    const origin = last?.origin ?? copied(slice);
    heads.push({ origin, size, root });
    if (heads.length === 1) this.#history.set(origin, heads);
  }

  #damage(message: string): AnchorDamage {
    return new AnchorDamage(this.#line, message);
  }
}

/** The largest head of each origin. */
export function newestIn(history: AnchorHistory): Map<string, AnchoredHead> {
  return new Map(Array.from(history, ([origin, heads]) => [origin, heads.at(-1)!]));
}

/** A slice of the text keeps all of it in memory. */
function copied(slice: string): string {
  return Buffer.from(slice, 'latin1').toString('latin1');
}

function isBeginning(line: string): boolean {
  return line === '' || (line.startsWith('= ') ? CUT_CLOSING : CUT_HEAD).test(line);
}

/**
 * Blocks of one append reach the disk in any order. Missing ones read as zeros, in whole sectors up to the
 * beginning or the end of the record; and as it is one append, nothing closes a record but its end.
 */
function hasUnwrittenBlock(bytes: Buffer, recordAt: number, fromAt: number): boolean {
  const closingAt = bytes.indexOf('\n= ', recordAt);
  const closedAt = closingAt < 0 ? -1 : bytes.indexOf('\n', closingAt + 1);
  if (closedAt >= 0 && closedAt < bytes.length - 1) return false;
  for (let from = bytes.indexOf(0, recordAt); from >= 0; ) {
    let to = from;
    while (to < bytes.length && bytes[to] === 0) to++;
    const beginsWell = from === recordAt || (fromAt + from) % SECTOR_BYTES === 0;
    const endsWell = to === bytes.length || (fromAt + to) % SECTOR_BYTES === 0;
    if (!beginsWell || !endsWell) return false;
    from = bytes.indexOf(0, to);
    if (from < 0) return true;
  }
  return false;
}
