// Messages as the JSON text that the contract has for them, from bytes to bytes: first it is found where the fields of a
// message stand, then they are written, and no value is built in between. Members are written in the order of RFC 8785, so
// that the text is canonical as far as its texts and numbers are, which they are.
//
// As the format wants it, the last of several values counts, parts of a message that is sent in pieces are put
// together, and unknown fields are passed over. What the contract does not allow is not judged here: an enum value without
// a word becomes the text `UNKNOWN_7`, which the gateway refuses in its own words.

import { AuditError, LIMITS } from '@tallystick/contract';
import type { EnumPlan, FieldType, MessagePlan } from '@tallystick/contract/grpc';
import { JsonBytes, type Outlining } from './json-bytes.ts';
import { DEPTH_MAX, malformed, WIRE, WireReader } from './reader.ts';
import {
  type Found,
  foundIn,
  hasInside,
  type InsideType,
  type ReadField,
  readPlanOf,
  type Slots,
  UNSPECIFIED,
  wireOf,
  wordOf,
} from './read-plan.ts';
import { closesWhereItEnds, StructReader } from './struct-json.ts';

export interface TextLimits {
  /** Bytes of the whole text. */
  readonly textMax: number;
}

/** A message with one member apart, which is a message itself and stays as it is on the wire. */
export interface SplitMessage {
  /** JSON text. */
  readonly members: Uint8Array;
  /** Undefined where it was not sent. */
  readonly body: { readonly plan: MessagePlan; readonly bytes: Uint8Array } | undefined;
}

export function splitMessage(
  plan: MessagePlan,
  bytes: Uint8Array,
  bodyMember: string | undefined,
  { textMax }: TextLimits,
): SplitMessage {
  const reader = new MessageReader(bytes, new JsonBytes(textMax, 0));
  const slots = reader.find(plan, [0, bytes.length], 0);
  const slot = bodyMember === undefined ? -1 : readPlanOf(plan).members.indexOf(bodyMember);
  const found = slots[slot];
  if (found === undefined) return { members: reader.write(plan, slots, 0), body: undefined };
  const { at, field } = found;
  const { type } = field.plan;
  if (type.kind !== 'Message') return { members: reader.write(plan, slots, 0), body: undefined };
  slots[slot] = undefined;
  const pieces = at.flatMap((from, i) => (i % 2 === 0 ? [bytes.subarray(from, at[i + 1])] : []));
  const body = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  return { members: reader.write(plan, slots, 0), body: { plan: type.of, bytes: body } };
}

export function messageJson(plan: MessagePlan, bytes: Uint8Array, { textMax }: TextLimits): Buffer {
  const reader = new MessageReader(bytes, new JsonBytes(textMax, 2 * bytes.length));
  return reader.write(plan, reader.find(plan, [0, bytes.length], 0), 0);
}

/** A body as canonicalBytes would have it. */
export interface OutlinedJson {
  readonly text: Uint8Array;
  readonly nodes: Int32Array;
  /** Containers inside one another. */
  readonly depth: number;
  /** False: the text is to be parsed, because it is not canonical, or something is not in its outline. */
  readonly isOutlined: boolean;
}

export function outlinedJson(
  plan: MessagePlan,
  bytes: Uint8Array,
  { textMax }: TextLimits,
  outline: Outlining,
): OutlinedJson {
  const out = new JsonBytes(textMax, 2 * bytes.length, outline);
  const reader = new MessageReader(bytes, out);
  const root = out.begin();
  const text = reader.write(plan, reader.find(plan, [0, bytes.length], 0), 0);
  out.end(root);
  return { text, nodes: out.nodes(), depth: out.deepest, isOutlined: out.isOutlined };
}

const COMMA = 0x2c;
/** A comma, two quotes and a colon around a key. */
const KEY_FRAME = 4;
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];

class MessageReader {
  readonly #wire: WireReader;
  readonly #structs: StructReader;
  readonly #out: JsonBytes;
  #values = 0;
  /** Found: what is overwritten, in pieces or unknown is never written, and costs time all the same. */
  #fields = 0;

  constructor(bytes: Uint8Array, out: JsonBytes) {
    this.#wire = new WireReader(bytes);
    this.#structs = new StructReader(this.#wire, out);
    this.#out = out;
  }

  find(plan: MessagePlan, bounds: readonly number[], depth: number): Slots {
    if (depth > DEPTH_MAX) throw malformed(`messages are nested over ${DEPTH_MAX} deep`);
    const wire = this.#wire;
    const { byNumber, absent } = readPlanOf(plan);
    const slots = absent.slice();
    for (let i = 0; i < bounds.length; i += 2) {
      wire.pos = bounds[i]!;
      wire.end = bounds[i + 1]!;
      while (wire.pos < wire.end) {
        const tag = wire.tag();
        this.#fields += 1;
        if (this.#fields > LIMITS.requestValuesMax) throw tooManyValues();
        const field = byNumber.get(tag >>> 3);
        if (field === undefined || !this.#note(field, tag & 7, slots)) wire.pass(tag);
      }
    }
    return slots;
  }

  /** False: it is of another kind than the plan has it, so it is unknown. */
  #note(field: ReadField, sent: number, slots: Slots): boolean {
    const wire = this.#wire;
    const { plan, slot, isMany } = field;
    const isPacked = plan.isRepeated && sent === WIRE.Bytes && field.wire !== WIRE.Bytes;
    if (sent !== field.wire && !isPacked) return false;
    const to = sent === WIRE.Bytes ? wire.span() : wire.pos;
    const from = wire.pos;
    if (isPacked) {
      const around = wire.end;
      for (wire.end = to; wire.pos < to; wire.pass(field.wire)) foundIn(slots, field).at.push(wire.pos);
      wire.end = around;
      return true;
    }
    if (sent === WIRE.Bytes) wire.pos = to;
    else wire.pass(sent);
    if (!isMany) {
      if (plan.type.kind === 'Enum' && this.#isUnspecified(plan.type.of, from)) return true;
      slots[slot] = undefined;
    }
    const { at } = foundIn(slots, field);
    at.push(from);
    if (sent === WIRE.Bytes) at.push(to);
    return true;
  }

  /** An enum that is explicitly none of its words is as if it were absent. */
  #isUnspecified({ words }: EnumPlan, at: number): boolean {
    const wire = this.#wire;
    const after = wire.pos;
    wire.pos = at;
    wire.varint();
    wire.pos = after;
    return wordOf(words, wire.low) === UNSPECIFIED;
  }

  write(plan: MessagePlan, slots: Slots, depth: number): Buffer {
    this.#object(plan, slots, depth);
    return this.#out.finish();
  }

  #object(plan: MessagePlan, slots: Slots, depth: number): void {
    const out = this.#out;
    const { members, keys, nullSlot, empties } = readPlanOf(plan);
    if (plan.form === 'Tuple') return this.#tuple(plan, slots, members);
    // A union, and a list in a map, is what it holds.
    const only = plan.form === 'Object' ? undefined : slots.find((each) => each !== undefined);
    if (only !== undefined) return this.#found(only, depth);
    if (plan.form === 'List') return out.ascii('[]');
    const unknown = nullSlot < 0 ? [] : this.#takeNulls(plan, slots);
    let isFirst = true;
    const begin = (key: Uint8Array) => {
      out.json(key, isFirst ? 1 : 0);
      isFirst = false;
      return out.begin(key.length - KEY_FRAME);
    };
    out.open(BRACE);
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i];
      if (i === nullSlot || (slot === undefined && empties[i] === undefined)) continue;
      const node = begin(keys[i]!);
      if (slot === undefined) out.ascii(empties[i]!);
      else this.#found(slot, depth);
      out.end(node);
    }
    for (const name of unknown) {
      out.isOutlined = false;
      begin(Buffer.from(`,${JSON.stringify(name)}:`));
      out.ascii('null');
    }
    return out.close(BRACE_END);
  }

  #tuple({ fields }: MessagePlan, slots: Slots, members: readonly string[]): void {
    const out = this.#out;
    out.leaveOut();
    out.open(BRACKET);
    fields.forEach(({ member }, i) => {
      if (i > 0) out.byte(COMMA);
      const found = slots[members.indexOf(member)];
      if (found === undefined) out.ascii('""');
      else this.#found(found, 0);
    });
    out.close(BRACKET_END);
  }

  #found({ field, at, isNull, nullKeys }: Found, depth: number): void {
    const { plan, wire } = field;
    const { type } = plan;
    if (isNull) return this.#out.ascii('null');
    if (type.kind === 'Map') return this.#map(type.of, at, nullKeys, depth);
    if (!plan.isRepeated)
      return hasInside(type)
        ? this.#inside(type, at, depth + 1, plan.member)
        : this.#simple(type, at[0]!, at[1]);
    const out = this.#out;
    const step = wire === WIRE.Bytes ? 2 : 1;
    out.open(BRACKET);
    for (let i = 0; i < at.length; i += step) {
      if (i > 0) out.byte(COMMA);
      const node = out.begin();
      if (plan.hasNullItems === true && at[i] === at[i + 1]) this.#ascii('null');
      else this.#value(type, at[i]!, at[i + 1], depth);
      out.end(node);
    }
    return out.close(BRACKET_END);
  }

  #value(type: FieldType, from: number, to: number | undefined, depth: number): void {
    if (hasInside(type)) this.#inside(type, [from, to!], depth + 1);
    else this.#simple(type, from, to);
  }

  #inside(type: InsideType, bounds: readonly number[], depth: number, member?: string): void {
    if (type.kind !== 'Message') this.#out.leaveOut(member);
    if (type.kind === 'Struct') return this.#structs.struct(bounds, depth);
    if (type.kind === 'Value') return this.#structs.value(bounds, depth);
    this.#count();
    return this.#object(type.of, this.find(type.of, bounds, depth), depth);
  }

  #simple(type: FieldType, from: number, to = this.#wire.bytes.length): void {
    const wire = this.#wire;
    wire.pos = from;
    wire.end = to;
    if (type.kind === 'Enum') {
      wire.varint();
      return this.#ascii(wordOf(type.of.words, wire.low));
    }
    if (type.kind === 'JsonText') {
      const json = wire.text(from, to);
      if (!closesWhereItEnds(json)) throw malformed('a JSON text is not one object');
      this.#count();
      this.#out.isOutlined = false;
      return this.#out.json(wire.bytes.subarray(from, to));
    }
    if (type.kind !== 'Scalar') throw new Error('a map is no single value');
    switch (type.of) {
      case 'string':
        this.#count();
        return this.#out.text(wire, from, to);
      case 'bytes':
        return this.#ascii(`"${wire.bytes.toString('base64', from, to)}"`);
      case 'double':
        this.#count();
        return this.#out.number(wire.double());
      case 'bool':
        return this.#ascii(wire.boolText());
      case 'int64':
        return this.#int64();
      case 'int32':
        wire.varint();
        return this.#ascii(String(wire.low | 0));
    }
  }

  #int64(): void {
    const text = this.#wire.int64Text();
    if (!Number.isSafeInteger(Number(text))) this.#out.isOutlined = false;
    this.#ascii(text);
  }

  #map(of: FieldType, bounds: readonly number[], nullKeys: readonly string[], depth: number): void {
    const out = this.#out;
    const entries = new Map<string, readonly number[] | null>();
    for (let i = 0; i < bounds.length; i += 2) this.#entry(of, bounds[i]!, bounds[i + 1]!, entries);
    for (const key of nullKeys) entries.set(key, null);
    out.leaveOut();
    out.open(BRACE);
    [...entries]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .forEach(([key, value], i) => {
        if (i > 0) out.byte(COMMA);
        out.json(Buffer.from(`${JSON.stringify(key)}:`));
        if (value === null) out.ascii('null');
        else if (value.length === 0) this.#ascii(EMPTY[of.kind === 'Scalar' ? of.of : of.kind] ?? 'null');
        else this.#value(of, value[0]!, value[1], depth);
      });
    out.close(BRACE_END);
  }

  #entry(of: FieldType, from: number, to: number, entries: Map<string, readonly number[] | null>): void {
    const wire = this.#wire;
    wire.pos = from;
    wire.end = to;
    let key = '';
    let value: readonly number[] = [];
    while (wire.pos < to) {
      const tag = wire.tag();
      if (tag === ((1 << 3) | WIRE.Bytes)) key = wire.nextText();
      else if (tag === ((2 << 3) | WIRE.Bytes) && wireOf(of) === WIRE.Bytes) {
        const end = wire.span();
        value = [wire.pos, end];
        wire.pos = end;
      } else {
        if (tag === ((2 << 3) | wireOf(of))) value = [wire.pos];
        wire.pass(tag);
      }
    }
    entries.set(key, value);
  }

  /** Sets members, or entries of their maps, to null; names that the message does not have are handed on. */
  #takeNulls(plan: MessagePlan, slots: Slots): string[] {
    const { nullSlot, byNumber } = readPlanOf(plan);
    const { at } = slots[nullSlot] ?? { at: [] };
    const unknown: string[] = [];
    for (let i = 0; i < at.length; i += 2) {
      this.#count();
      const name = this.#wire.text(at[i]!, at[i + 1]!);
      const [first = '', ...rest] = name.split('.');
      const field = plan.fields.find((each) => each.name === first || each.protoName === first);
      const read = field === undefined ? undefined : byNumber.get(field.number);
      if (read !== undefined && rest.length === 0) foundIn(slots, read).isNull = true;
      else if (read !== undefined && field?.type.kind === 'Map')
        foundIn(slots, read).nullKeys.push(rest.join('.'));
      else unknown.push(name);
    }
    return unknown;
  }

  #ascii(json: string): void {
    this.#count();
    this.#out.ascii(json);
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > LIMITS.requestValuesMax) throw tooManyValues();
  }
}

function tooManyValues(): AuditError {
  const message = `The message has over ${LIMITS.requestValuesMax} values outside of context and payload.`;
  return new AuditError('REQUEST_TOO_LARGE', message);
}

/** The value of an entry of a map that has none. */
const EMPTY: Readonly<Record<string, string>> = {
  string: '""',
  bytes: '""',
  bool: 'false',
  int32: '0',
  int64: '0',
  double: '0',
  Message: '{}',
  Struct: '{}',
  Enum: UNSPECIFIED,
};
