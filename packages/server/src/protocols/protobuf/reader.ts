// Reads the wire format of Protocol Buffers: numbers, texts and the bounds of what is inside. All that is not sound is
// refused; nothing is copied.

import { isUtf8 } from 'node:buffer';
import { AuditError } from '@tallystick/contract';

export const WIRE = { Varint: 0, Fixed64: 1, Bytes: 2, GroupStart: 3, GroupEnd: 4, Fixed32: 5 } as const;

/** Groups inside one another that are skipped, and messages that are read. */
export const DEPTH_MAX = 100;

export function malformed(issue: string): AuditError {
  return new AuditError('MALFORMED_JSON', `The message is not sound Protocol Buffers: ${issue}.`);
}

const cutOff = () => malformed('it ends in the middle of a field');

export class WireReader {
  readonly bytes: Buffer;
  readonly words: DataView;
  pos: number;
  end: number;
  /** The halves of the last varint. */
  low = 0;
  high = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.pos = 0;
    this.end = bytes.length;
  }

  /** Sets `low` and `high`; what is over 64 bits is dropped, as the format says. */
  varint(): void {
    const { bytes, end } = this;
    if (this.pos < end && bytes[this.pos]! < 0x80) {
      this.low = bytes[this.pos++]!;
      this.high = 0;
      return;
    }
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.pos >= end) throw cutOff();
      const byte = bytes[this.pos++]!;
      const seven = byte & 0x7f;
      if (shift < 28) low |= seven << shift;
      else if (shift === 28) {
        low |= seven << 28;
        high = seven >>> 4;
      } else if (shift < 63) high |= seven << (shift - 32);
      else high |= (seven & 1) << 31;
      if (byte < 0x80) {
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw malformed('a number has over 10 bytes');
  }

  /** The number of the next field, with its kind in the last three bits. */
  tag(): number {
    this.varint();
    if (this.high !== 0 || this.low < 8) throw malformed('a field has no number');
    return this.low;
  }

  /** Where the bytes of the field end; they begin at `pos`. */
  span(): number {
    this.varint();
    const end = this.pos + this.low;
    if (this.high !== 0 || end > this.end) throw cutOff();
    return end;
  }

  text(start: number, end: number): string {
    const { bytes } = this;
    const text = bytes.toString('utf8', start, end);
    if (text.includes('\uFFFD') && !isUtf8(bytes.subarray(start, end)))
      throw malformed('a text is not in UTF-8');
    return text;
  }

  /** Of a field whose tag was read. */
  nextText(): string {
    const end = this.span();
    const text = this.text(this.pos, end);
    this.pos = end;
    return text;
  }

  boolText(): string {
    this.varint();
    return this.low === 0 && this.high === 0 ? 'false' : 'true';
  }

  /** As JSON has it: exact, however large it is. */
  int64Text(): string {
    this.varint();
    const { low, high } = this;
    if (high < 0x20_0000) return String(high * 2 ** 32 + low);
    return String(BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low)));
  }

  double(): number {
    return this.words.getFloat64(this.#fixed(8), true);
  }

  pass(tag: number, depth = 0): void {
    switch (tag & 7) {
      case WIRE.Varint:
        return this.varint();
      case WIRE.Fixed64:
        return void this.#fixed(8);
      case WIRE.Fixed32:
        return void this.#fixed(4);
      case WIRE.Bytes:
        this.pos = this.span();
        return undefined;
      case WIRE.GroupStart:
        return this.#passGroup(tag, depth);
      default:
        throw malformed('a field is of no known kind');
    }
  }

  #passGroup(tag: number, depth: number): void {
    if (depth >= DEPTH_MAX) throw malformed(`groups are nested over ${DEPTH_MAX} deep`);
    for (;;) {
      const inner = this.tag();
      if ((inner & 7) === WIRE.GroupEnd) {
        if (inner >>> 3 !== tag >>> 3) throw malformed('a group ends that was not begun');
        return;
      }
      this.pass(inner, depth + 1);
    }
  }

  #fixed(length: number): number {
    const at = this.pos;
    if (at + length > this.end) throw cutOff();
    this.pos = at + length;
    return at;
  }
}
