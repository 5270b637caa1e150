// The descriptors of our files, as reflection shows them and as programs make clients of at run time: what a compiler makes of the
// `.proto` files, without comments. Fields and their numbers are those of google/protobuf/descriptor.proto.

import {
  type EnumPlan,
  enumValueName,
  type FieldPlan,
  type FieldType,
  type GrpcInterface,
  type MessagePlan,
  type MethodPlan,
  servicesFile,
  typesFile,
} from '@tallystick/contract/grpc';
import { BYTES, VARINT, WireWriter } from './writer.ts';

const STRUCT_FILE = 'google/protobuf/struct.proto';

/** A file descriptor as bytes, with what it needs and declares. */
export interface FileDescriptor {
  readonly name: string;
  readonly needs: readonly string[];
  /** Full names of its messages, enums and services. */
  readonly symbols: readonly string[];
  readonly bytes: Uint8Array;
}

const SCALARS = { double: 1, int64: 3, int32: 5, bool: 8, string: 9, bytes: 12 } as const;
const MESSAGE = 11;
const ENUM = 14;
const OPTIONAL = 1;
const REPEATED = 3;
const NO_SIDE_EFFECTS = 1;

export function filesOf({ package: name, plans, methods }: GrpcInterface): FileDescriptor[] {
  const own = new Set(methods.flatMap(({ request, response }) => [request, response]));
  const types = [...plans.messages.values()].filter((each) => !own.has(each));
  const enums = [...plans.enums.values()];
  const services = Map.groupBy(methods, ({ service }) => service);
  return [
    fileOf(typesFile(name), name, { needs: [STRUCT_FILE], messages: types, enums, services: new Map() }),
    fileOf(servicesFile(name), name, { needs: [typesFile(name)], messages: [...own], enums: [], services }),
  ];
}

export interface Declared {
  readonly needs: readonly string[];
  readonly messages: readonly MessagePlan[];
  readonly enums: readonly EnumPlan[];
  readonly services: ReadonlyMap<string, readonly DescribedMethod[]>;
}

export type DescribedMethod = Pick<MethodPlan, 'method' | 'request' | 'response' | 'isSafe'> & {
  readonly streams?: { readonly client: boolean; readonly server: boolean };
};

export function fileOf(file: string, packageName: string, declared: Declared): FileDescriptor {
  const { needs, messages, enums, services } = declared;
  const writer = new WireWriter();
  const full = (name: string) => `.${packageName}.${name}`;
  writer.tag(1, BYTES).text(file).tag(2, BYTES).text(packageName);
  for (const need of needs) writer.tag(3, BYTES).text(need);
  for (const each of messages) writer.tag(4, BYTES).message(() => writeType(writer, each, full));
  for (const each of enums) writer.tag(5, BYTES).message(() => writeEnum(writer, each));
  for (const [name, methods] of services)
    writer.tag(6, BYTES).message(() => {
      writer.tag(1, BYTES).text(name);
      for (const each of methods) writer.tag(2, BYTES).message(() => writeMethod(writer, each, full));
    });
  writer.tag(12, BYTES).text('proto3');
  const names = [...messages, ...enums].map(({ name }) => name);
  const symbols = [...names, ...services.keys()].map((name) => `${packageName}.${name}`);
  return { name: file, needs, symbols, bytes: writer.finish() };
}

type Full = (name: string) => string;

function writeType(writer: WireWriter, { name, fields }: MessagePlan, full: Full): void {
  const oneofs = [...new Set(fields.flatMap(({ oneof }) => oneof ?? []))];
  const optionals = fields.filter(isOptional);
  const indexOf = (field: FieldPlan) =>
    field.oneof === undefined ? oneofs.length + optionals.indexOf(field) : oneofs.indexOf(field.oneof);
  writer.tag(1, BYTES).text(name);
  for (const field of fields) {
    writer.tag(2, BYTES).message(() => {
      const inside = field.type.kind === 'Map' ? `${full(name)}.${entryName(field)}` : undefined;
      writeField(writer, field, full, inside);
      if (field.oneof !== undefined || isOptional(field)) writer.tag(9, VARINT).varint(indexOf(field));
      writer.tag(10, BYTES).text(field.name);
      if (isOptional(field)) writer.tag(17, VARINT).varint(1);
    });
    const { type } = field;
    if (type.kind === 'Map')
      writer.tag(3, BYTES).message(() => writeEntry(writer, entryName(field), type.of, full));
  }
  // Those of fields that are optional stand behind all others.
  for (const oneof of [...oneofs, ...optionals.map(({ protoName }) => `_${protoName}`)])
    writer.tag(8, BYTES).message(() => writer.tag(1, BYTES).text(oneof));
}

const isOptional = ({ isRepeated, oneof, type }: FieldPlan): boolean =>
  !isRepeated && oneof === undefined && (type.kind === 'Scalar' || type.kind === 'Enum');

const entryName = ({ name }: FieldPlan): string => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}Entry`;

function writeField(
  writer: WireWriter,
  { protoName, number, type, isRepeated }: Pick<FieldPlan, 'protoName' | 'number' | 'type' | 'isRepeated'>,
  full: Full,
  entry?: string,
): void {
  const label = isRepeated || entry !== undefined ? REPEATED : OPTIONAL;
  writer.tag(1, BYTES).text(protoName).tag(3, VARINT).varint(number).tag(4, VARINT).varint(label);
  const name = entry ?? typeName(type, full);
  writer.tag(5, VARINT).varint(typeNumber(type));
  if (name !== undefined) writer.tag(6, BYTES).text(name);
}

function typeNumber(type: FieldType): number {
  if (type.kind === 'Scalar') return SCALARS[type.of];
  if (type.kind === 'JsonText') return SCALARS.string;
  return type.kind === 'Enum' ? ENUM : MESSAGE;
}

function typeName(type: FieldType, full: Full): string | undefined {
  if (type.kind === 'Struct') return '.google.protobuf.Struct';
  if (type.kind === 'Value') return '.google.protobuf.Value';
  return type.kind === 'Message' || type.kind === 'Enum' ? full(type.of.name) : undefined;
}

/** The message that an entry of a map is. */
function writeEntry(writer: WireWriter, name: string, of: FieldType, full: Full): void {
  const field = (protoName: string, number: number, type: FieldType) =>
    writer.tag(2, BYTES).message(() => {
      writeField(writer, { protoName, number, type, isRepeated: false }, full);
      writer.tag(10, BYTES).text(protoName);
    });
  writer.tag(1, BYTES).text(name);
  field('key', 1, { kind: 'Scalar', of: 'string' });
  field('value', 2, of);
  writer.tag(7, BYTES).message(() => writer.tag(7, VARINT).varint(1));
}

function writeEnum(writer: WireWriter, { name, words }: EnumPlan): void {
  writer.tag(1, BYTES).text(name);
  for (const [word, number] of [['Unspecified', 0] as const, ...words])
    writer.tag(2, BYTES).message(() => {
      writer.tag(1, BYTES).text(enumValueName(name, word)).tag(2, VARINT).varint(number);
    });
}

function writeMethod(writer: WireWriter, each: DescribedMethod, full: Full): void {
  const { method, request, response, isSafe, streams } = each;
  writer.tag(1, BYTES).text(method).tag(2, BYTES).text(full(request.name));
  writer.tag(3, BYTES).text(full(response.name));
  if (isSafe) writer.tag(4, BYTES).message(() => writer.tag(34, VARINT).varint(NO_SIDE_EFFECTS));
  if (streams?.client === true) writer.tag(5, VARINT).varint(1);
  if (streams?.server === true) writer.tag(6, VARINT).varint(1);
}
