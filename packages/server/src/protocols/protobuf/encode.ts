// Values of the contract as messages. What is absent or null is left out; where a message can say null, it does.

import { type FieldPlan, type FieldType, type MessagePlan, NULL_MEMBERS } from '@tallystick/contract/grpc';
import { readWritten } from '../../written-json.ts';
import { BYTES, FIXED64, VARINT, WireWriter } from './writer.ts';

type Members = Readonly<Record<string, unknown>>;

export function encodeMessage(plan: MessagePlan, value: unknown): Buffer {
  const writer = new WireWriter();
  writeMessage(writer, plan, value);
  return writer.finish();
}

export function writeMessage(writer: WireWriter, plan: MessagePlan, value: unknown): void {
  if (plan.form === 'Tuple' && Array.isArray(value)) {
    plan.fields.forEach((field, i) => writeField(writer, field, value[i]));
  } else if (plan.form === 'List') {
    for (const field of plan.fields) writeField(writer, field, value);
  } else if (plan.form === 'Union') {
    writeField(writer, branchIn(plan, value as Members), value);
  } else {
    const members = value as Members;
    for (const field of plan.fields) {
      if (field.name === NULL_MEMBERS) writeField(writer, field, nullsIn(plan, members));
      else if (field.type.kind !== 'JsonText') writeField(writer, field, members[field.member]);
    }
  }
}

/** The first that knows all members of the value. */
export function branchIn(plan: MessagePlan, value: Members): FieldPlan {
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  const fits = plan.fields.find(({ type }) => {
    if (type.kind !== 'Message') return false;
    const known = new Set(type.of.fields.map(({ member }) => member));
    return names.every((name) => known.has(name));
  });
  if (fits === undefined) throw new Error(`no shape of ${plan.name} has all of ${names.join(', ')}`);
  return fits;
}

function nullsIn(plan: MessagePlan, members: Members): string[] {
  return plan.fields.flatMap(({ member, type }) => {
    const value = members[member];
    if (value === null) return [member];
    if (type.kind !== 'Map' || typeof value !== 'object') return [];
    return Object.entries(value).flatMap(([key, each]) => (each === null ? [`${member}.${key}`] : []));
  });
}

function writeField(writer: WireWriter, field: FieldPlan, value: unknown): void {
  const { number, type, isRepeated } = field;
  if (value === undefined || (value === null && type.kind !== 'Value')) return;
  if (type.kind === 'Map') writeMap(writer, number, type.of, value as Members);
  else if (!isRepeated) writeSingle(writer, number, type, value);
  else for (const item of value as readonly unknown[]) writeSingle(writer, number, type, item ?? '');
}

function writeMap(writer: WireWriter, number: number, of: FieldType, entries: Members): void {
  for (const [key, value] of Object.entries(entries)) {
    if (value === null) continue;
    writer.tag(number, BYTES).message(() => {
      writer.tag(1, BYTES).text(key);
      writeSingle(writer, 2, of, value);
    });
  }
}

export function writeSingle(writer: WireWriter, number: number, type: FieldType, value: unknown): void {
  switch (type.kind) {
    case 'Scalar':
      return writeScalar(writer, number, type.of, value);
    case 'Enum': {
      const word = type.of.words.get(value as string);
      if (word === undefined) throw new Error(`${String(value)} is no word of ${type.of.name}`);
      return void writer.tag(number, VARINT).varint(word);
    }
    case 'Message':
      return void writer.tag(number, BYTES).message(() => writeMessage(writer, type.of, value));
    case 'Struct':
      return void writer.tag(number, BYTES).message(() => writeStruct(writer, value as Members));
    case 'Value':
      return void writer.tag(number, BYTES).message(() => writeValue(writer, value));
    case 'JsonText':
    case 'Map':
      throw new Error('an answer has objects as Structs, and maps by their entries');
  }
}

function writeScalar(writer: WireWriter, number: number, of: string, value: unknown): void {
  if (of === 'string') writer.tag(number, BYTES).text(value as string);
  else if (of === 'bytes') writer.tag(number, BYTES).bytes(Buffer.from(value as string, 'base64'));
  else if (of === 'bool') writer.tag(number, VARINT).varint(value === true ? 1 : 0);
  else if (of === 'double') writer.tag(number, FIXED64).double(value as number);
  else writer.tag(number, VARINT).integer(value as number);
}

function writeStruct(writer: WireWriter, value: Members): void {
  for (const [key, each] of Object.entries(readWritten(value))) {
    if (each === undefined) continue;
    writer.tag(1, BYTES).message(() => {
      writer.tag(1, BYTES).text(key);
      writer.tag(2, BYTES).message(() => writeValue(writer, each));
    });
  }
}

function writeValue(writer: WireWriter, value: unknown): void {
  if (value === null) writer.tag(1, VARINT).varint(0);
  else if (typeof value === 'number') writer.tag(2, FIXED64).double(value);
  else if (typeof value === 'string') writer.tag(3, BYTES).text(value);
  else if (typeof value === 'boolean') writer.tag(4, VARINT).varint(value ? 1 : 0);
  else if (!Array.isArray(value)) writer.tag(5, BYTES).message(() => writeStruct(writer, value as Members));
  else
    writer.tag(6, BYTES).message(() => {
      for (const item of value) writer.tag(1, BYTES).message(() => writeValue(writer, item));
    });
}
