// Messages as the JSON text that the contract has for them, straight from the bytes: no value is built in between. Members
// are written in the order of RFC 8785, so that the text is canonical as far as its texts and numbers are, which they are.
//
// As the format wants it, the last of several values counts, parts of a message that is sent in pieces are put
// together, and unknown fields are passed over. What the contract does not allow is not judged here: an enum value without
// a word becomes the text `UNKNOWN_7`, which the gateway refuses in its own words.

import { AuditError, LIMITS } from '@tallystick/contract';
import { type FieldPlan, type FieldType, type MessagePlan, NULL_MEMBERS } from '@tallystick/contract/grpc';
import { parseJson } from '@tallystick/evidence';
import { DEPTH_MAX, malformed, WIRE, WireReader } from './reader.ts';
import { closesWhereItEnds, StructReader } from './struct-json.ts';

/** A field in the form in which it is read often. */
interface ReadField {
  readonly plan: FieldPlan;
  /** Fields of one member share a slot: of an object and its text, the last counts. */
  readonly slot: number;
  readonly wire: number;
}

interface ReadPlan {
  readonly byNumber: ReadonlyMap<number, ReadField>;
  /** In the order in which members are written. */
  readonly members: readonly string[];
  readonly keys: readonly string[];
  readonly nullSlot: number;
  /** What stands for an absent list, map or null that must be there. */
  readonly empties: readonly Slot[];
}

/** Text; texts of the items of a list; those of a map; the bounds of the parts of a message. */
type Slot = string | string[] | Map<string, string> | Parts | undefined;

class Parts {
  readonly bounds: number[];
  readonly field: FieldPlan;

  constructor(field: FieldPlan, start: number, end: number) {
    this.field = field;
    this.bounds = [start, end];
  }
}

const readPlans = new WeakMap<MessagePlan, ReadPlan>();

function readPlanOf(plan: MessagePlan): ReadPlan {
  const known = readPlans.get(plan);
  if (known !== undefined) return known;
  const members = [...new Set(plan.fields.map(({ member }) => member))].toSorted();
  const fields = plan.fields.map((field): [number, ReadField] => [
    field.number,
    { plan: field, slot: members.indexOf(field.member), wire: wireOf(field.type) },
  ]);
  const keys = members.map((member) => `${JSON.stringify(member)}:`);
  const empties = members.map((member) => {
    const required = plan.fields.find((each) => each.member === member && each.isRequired === true);
    if (required === undefined) return undefined;
    if (required.isRepeated) return '[]';
    return required.type.kind === 'Map' ? '{}' : 'null';
  });
  const made = { byNumber: new Map(fields), members, keys, nullSlot: members.indexOf(NULL_MEMBERS), empties };
  readPlans.set(plan, made);
  return made;
}

function wireOf(type: FieldType): number {
  if (type.kind === 'Enum') return WIRE.Varint;
  if (type.kind !== 'Scalar' || type.of === 'string' || type.of === 'bytes') return WIRE.Bytes;
  return type.of === 'double' ? WIRE.Fixed64 : WIRE.Varint;
}

export interface TextLimits {
  /** Characters of the whole text. */
  readonly textMax: number;
}

/** A message with one member apart, which is a message itself and stays as it is on the wire. */
export interface SplitMessage {
  /** JSON text. */
  readonly members: string;
  /** Undefined where it was not sent. */
  readonly body: { readonly plan: MessagePlan; readonly bytes: Uint8Array } | undefined;
}

export function splitMessage(
  plan: MessagePlan,
  bytes: Uint8Array,
  bodyMember: string | undefined,
  limits: TextLimits,
): SplitMessage {
  const reader = new MessageReader(bytes, limits);
  const { members } = readPlanOf(plan);
  const slots = reader.slotsOf(plan, [0, bytes.length], 0);
  const at = bodyMember === undefined ? -1 : members.indexOf(bodyMember);
  const part = slots[at];
  if (!(part instanceof Parts) || part.field.type.kind !== 'Message')
    return { members: reader.objectOf(plan, slots, 0), body: undefined };
  slots[at] = undefined;
  const { bounds } = part;
  const pieces = bounds.flatMap((start, i) => (i % 2 === 0 ? [bytes.subarray(start, bounds[i + 1])] : []));
  const body = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  return { members: reader.objectOf(plan, slots, 0), body: { plan: part.field.type.of, bytes: body } };
}

export function messageText(plan: MessagePlan, bytes: Uint8Array, limits: TextLimits): string {
  return new MessageReader(bytes, limits).message(plan, [0, bytes.length], 0);
}

class MessageReader {
  readonly #wire: WireReader;
  readonly #structs: StructReader;
  readonly #textMax: number;
  #values = 0;
  #length = 0;

  constructor(bytes: Uint8Array, { textMax }: TextLimits) {
    this.#wire = new WireReader(bytes);
    this.#structs = new StructReader(this.#wire, (length) => this.#count(length));
    this.#textMax = textMax;
  }

  message(plan: MessagePlan, bounds: readonly number[], depth: number): string {
    return this.objectOf(plan, this.slotsOf(plan, bounds, depth), depth);
  }

  objectOf(plan: MessagePlan, slots: Slot[], depth: number): string {
    const { members, keys, nullSlot } = readPlanOf(plan);
    const nulls = nullSlot < 0 ? undefined : slots[nullSlot];
    const more = Array.isArray(nulls) ? setNulls(plan, slots, members, nulls) : [];
    const texts: string[] = [];
    for (let i = 0; i < slots.length; i++) {
      if (i === nullSlot) continue;
      const text = this.textOf(slots[i], depth);
      if (text === undefined) continue;
      // A union, and a list in a map, is what it holds.
      if (plan.form === 'Union' || plan.form === 'List') return text;
      texts.push(`${keys[i]}${text}`);
      this.#count(keys[i]!.length + 1);
    }
    if (plan.form === 'List') return '[]';
    if (plan.form === 'Tuple') return this.#tuple(plan, slots, members);
    return `{${texts.concat(more).join(',')}}`;
  }

  #tuple(plan: MessagePlan, slots: readonly Slot[], members: readonly string[]): string {
    const items = plan.fields.map(({ member }) => this.textOf(slots[members.indexOf(member)], 0) ?? '""');
    return `[${items.join(',')}]`;
  }

  slotsOf(plan: MessagePlan, bounds: readonly number[], depth: number): Slot[] {
    if (depth > DEPTH_MAX) throw malformed(`messages are nested over ${DEPTH_MAX} deep`);
    const wire = this.#wire;
    const { byNumber, empties } = readPlanOf(plan);
    const slots = empties.slice();
    for (let i = 0; i < bounds.length; i += 2) {
      wire.pos = bounds[i]!;
      const end = bounds[i + 1]!;
      wire.end = end;
      while (wire.pos < end) {
        const tag = wire.tag();
        const field = byNumber.get(tag >>> 3);
        if (field === undefined || !this.#take(field, tag & 7, slots, depth)) wire.pass(tag);
        wire.end = end;
      }
    }
    return slots;
  }

  /** False: it is of another kind than the plan has it, so it is unknown. */
  #take({ plan, slot, wire }: ReadField, sent: number, slots: Slot[], depth: number): boolean {
    const isPacked = plan.isRepeated && sent === WIRE.Bytes && wire !== WIRE.Bytes;
    if (sent !== wire && !isPacked) return false;
    const before = slots[slot];
    if (isPacked) slots[slot] = this.#packed(plan, before);
    else if (plan.isRepeated) (slots[slot] = listOf(before)).push(this.#item(plan, depth));
    else if (plan.type.kind === 'Map') this.#entry(plan.type.of, (slots[slot] = mapOf(before)), depth);
    else if (plan.type.kind === 'Message' || plan.type.kind === 'Struct' || plan.type.kind === 'Value')
      slots[slot] = this.#part(plan, before);
    else slots[slot] = this.#singular(plan.type, depth) ?? before;
    return true;
  }

  #item({ type, hasNullItems }: FieldPlan, depth: number): string {
    const text = this.#value(type, depth);
    return hasNullItems === true && text === '""' ? 'null' : text;
  }

  #part(field: FieldPlan, before: Slot): Parts {
    const end = this.#wire.span();
    const start = this.#wire.pos;
    this.#wire.pos = end;
    if (!(before instanceof Parts) || before.field !== field) return new Parts(field, start, end);
    before.bounds.push(start, end);
    return before;
  }

  #packed(field: FieldPlan, before: Slot): string[] {
    const wire = this.#wire;
    const [items, around] = [listOf(before), wire.end];
    wire.end = wire.span();
    while (wire.pos < wire.end) items.push(this.#value(field.type, 0));
    wire.end = around;
    return items;
  }

  /** Undefined: an enum that is explicitly none of its words, which is as if it were absent. */
  #singular(type: FieldType, depth: number): string | undefined {
    const text = this.#value(type, depth);
    return type.kind === 'Enum' && text === UNSPECIFIED ? undefined : text;
  }

  #value(type: FieldType, depth: number): string {
    const wire = this.#wire;
    switch (type.kind) {
      case 'Enum':
        wire.varint();
        return this.#counted(wordOf(type.of.words, wire.low));
      case 'Scalar':
        return this.#counted(this.#scalar(type.of));
      case 'JsonText': {
        const text = this.#wire.nextText();
        if (!closesWhereItEnds(text)) throw malformed('a JSON text is not one object');
        return this.#counted(text);
      }
      case 'Message':
      case 'Struct':
      case 'Value': {
        const [end, around] = [wire.span(), wire.end];
        const text = this.#inside(type, [wire.pos, end], depth + 1);
        [wire.pos, wire.end] = [end, around];
        return text;
      }
      case 'Map':
        throw new Error('a map is no single value');
    }
  }

  #scalar(of: 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'double'): string {
    const wire = this.#wire;
    if (of === 'string') return JSON.stringify(this.#wire.nextText());
    if (of === 'bytes') {
      const end = wire.span();
      const start = wire.pos;
      wire.pos = end;
      return `"${wire.bytes.toString('base64', start, end)}"`;
    }
    if (of === 'double') {
      const number = wire.double();
      if (!Number.isFinite(number)) throw malformed('a number is not finite');
      return JSON.stringify(number);
    }
    wire.varint();
    if (of === 'bool') return wire.low === 0 && wire.high === 0 ? 'false' : 'true';
    return of === 'int32' ? String(wire.low | 0) : wire.int64Text();
  }

  #inside(type: FieldType, bounds: readonly number[], depth: number): string {
    if (type.kind === 'Struct') return this.#structs.struct(bounds, depth);
    if (type.kind === 'Value') return this.#structs.value(bounds, depth);
    if (type.kind !== 'Message') throw new Error('only messages have an inside');
    return this.#counted(this.message(type.of, bounds, depth), 2);
  }

  #entry(of: FieldType, entries: Map<string, string>, depth: number): void {
    const wire = this.#wire;
    const [end, around] = [wire.span(), wire.end];
    wire.end = end;
    let key = '';
    let value: string | undefined;
    while (wire.pos < end) {
      const tag = wire.tag();
      if (tag === ((1 << 3) | WIRE.Bytes)) key = this.#wire.nextText();
      else if (tag === ((2 << 3) | wireOf(of))) value = this.#value(of, depth);
      else wire.pass(tag);
    }
    wire.end = around;
    entries.set(key, value ?? EMPTY[of.kind === 'Scalar' ? of.of : of.kind] ?? 'null');
    this.#count(key.length);
  }

  textOf(slot: Slot, depth: number): string | undefined {
    if (slot === undefined || typeof slot === 'string') return slot;
    if (slot instanceof Parts) return this.#inside(slot.field.type, slot.bounds, depth + 1);
    if (Array.isArray(slot)) return `[${slot.join(',')}]`;
    const entries = [...slot].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return `{${entries.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
  }

  #counted(text: string, length = text.length): string {
    this.#count(length);
    this.#values += 1;
    if (this.#values > LIMITS.requestValuesMax) {
      const message = `The message has over ${LIMITS.requestValuesMax} values outside of context and payload.`;
      throw new AuditError('REQUEST_TOO_LARGE', message);
    }
    return text;
  }

  /** Escapes make a text up to six times as long as its bytes, so it is counted while it grows. */
  #count(length: number): void {
    this.#length += length;
    if (this.#length > this.#textMax)
      throw new AuditError('REQUEST_TOO_LARGE', `The message is over ${this.#textMax} bytes as JSON.`);
  }
}

const UNSPECIFIED = '"UNKNOWN_0"';

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

const words = new WeakMap<ReadonlyMap<string, number>, Map<number, string>>();

function wordOf(numbers: ReadonlyMap<string, number>, number: number): string {
  let texts = words.get(numbers);
  if (texts === undefined) {
    texts = new Map([...numbers].map(([word, each]) => [each, JSON.stringify(word)]));
    words.set(numbers, texts);
  }
  return texts.get(number) ?? `"UNKNOWN_${number | 0}"`;
}

const listOf = (slot: Slot): string[] => (Array.isArray(slot) ? slot : []);
const mapOf = (slot: Slot): Map<string, string> => (slot instanceof Map ? slot : new Map<string, string>());

/** Sets members, or entries of their maps, to null; names that the message does not have are handed on. */
function setNulls(
  plan: MessagePlan,
  slots: Slot[],
  members: readonly string[],
  names: readonly string[],
): string[] {
  return names.flatMap((text) => {
    const name = parseJson(text) as string;
    const dot = name.indexOf('.');
    const first = dot < 0 ? name : name.slice(0, dot);
    const field = plan.fields.find((each) => each.name === first || each.protoName === first);
    const slot = field === undefined ? -1 : members.indexOf(field.member);
    if (slot >= 0 && dot < 0) slots[slot] = 'null';
    else if (slot >= 0 && field?.type.kind === 'Map')
      (slots[slot] = mapOf(slots[slot])).set(name.slice(dot + 1), 'null');
    else return [`${JSON.stringify(name)}:null`];
    return [];
  });
}
