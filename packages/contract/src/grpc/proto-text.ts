// The `.proto` files of a version, and which changes of one break the clients that were made from it.

import type { Version } from '../schema.ts';
import { type EnumPlan, type FieldPlan, type FieldType, type MessagePlan, Plans, snakeCase } from './plan.ts';
import { completedNumbers, grpcInterface, type MethodPlan } from './services.ts';

const STRUCT = 'google/protobuf/struct.proto';

export const enumValueName = (name: string, word: string): string =>
  `${snakeCase(name)}_${snakeCase(word)}`.toUpperCase();

/** Messages and enums that requests and responses are made of. */
export function typesProto(version: Version): string {
  const { package: name, plans, methods } = grpcInterface(version, new Plans(completedNumbers()));
  const own = new Set(methods.flatMap(({ request, response }) => [request, response]));
  const messages = [...plans.messages.values()].filter((each) => !own.has(each));
  const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1);
  const enums = [...plans.enums.values()].toSorted(byName);
  const parts = [
    ...enums.map((each) => enumText(each, plans)),
    ...messages.toSorted(byName).map((each) => messageText(each, plans)),
  ];
  return `${head(name, [STRUCT])}\n${parts.join('\n')}`;
}

export function servicesProto(version: Version): string {
  const { package: name, plans, methods } = grpcInterface(version, new Plans(completedNumbers()));
  const services = Map.groupBy(methods, ({ service }) => service);
  const parts = [...services].flatMap(([service, its]) => [
    serviceText(service, its),
    ...its.flatMap(({ request, response }) => [messageText(request, plans), messageText(response, plans)]),
  ]);
  return `${head(name, [typesFile(name)])}\n${parts.join('\n')}`;
}

export const typesFile = (packageName: string): string => `${packageName.replaceAll('.', '/')}/types.proto`;
export const servicesFile = (packageName: string): string =>
  `${packageName.replaceAll('.', '/')}/services.proto`;

function head(packageName: string, imports: readonly string[]): string {
  const lines = imports.map((file) => `import "${file}";\n`).join('');
  return `// Written by npm run docs from the contract.

syntax = "proto3";

package ${packageName};

${lines}`;
}

function serviceText(name: string, methods: readonly MethodPlan[]): string {
  const lines = methods.map(({ operation, method, request, response, isSafe, streams }) => {
    const options = isSafe ? ` {\n    option idempotency_level = NO_SIDE_EFFECTS;\n  }` : ';';
    const [sent, told] = [streams?.client, streams?.server].map((isStream) => (isStream ? 'stream ' : ''));
    return `${comment(`${operation.summary}.`, '  ')}  rpc ${method}(${sent}${request.name}) returns (${told}${response.name})${options}\n`;
  });
  return `service ${name} {\n${lines.join('\n')}}\n`;
}

function enumText({ name, description, words }: EnumPlan, plans: Plans): string {
  const values = [...words].map(([word, number]) => `  ${enumValueName(name, word)} = ${number};\n`);
  const none = `  ${enumValueName(name, 'Unspecified')} = 0;\n`;
  return `${comment(description)}enum ${name} {\n${reservedText(name, plans)}${none}${values.join('')}}\n`;
}

function messageText({ name, description, fields }: MessagePlan, plans: Plans): string {
  const done = new Set<string>();
  const parts = fields.map((field) => {
    if (field.oneof === undefined) return `${comment(field.description, '  ')}  ${fieldText(field)}`;
    if (done.has(field.oneof)) return '';
    done.add(field.oneof);
    const inside = fields.filter(({ oneof }) => oneof === field.oneof);
    const lines = inside.map((each) => `${comment(each.description, '    ')}    ${fieldText(each)}`);
    return `  oneof ${field.oneof} {\n${lines.join('')}  }\n`;
  });
  const body = `${reservedText(name, plans)}${parts.join('')}`;
  return `${comment(description)}message ${name} {${body === '' ? '' : `\n${body}`}}\n`;
}

function fieldText({ type, isRepeated, oneof, protoName, number }: FieldPlan): string {
  const isSingle = !isRepeated && oneof === undefined && (type.kind === 'Scalar' || type.kind === 'Enum');
  const label = isRepeated ? 'repeated ' : isSingle ? 'optional ' : '';
  return `${label}${typeText(type)} ${protoName} = ${number};\n`;
}

export function typeText(type: FieldType): string {
  switch (type.kind) {
    case 'Scalar':
      return type.of;
    case 'Enum':
    case 'Message':
      return type.of.name;
    case 'Map':
      return `map<string, ${typeText(type.of)}>`;
    case 'Struct':
      return 'google.protobuf.Struct';
    case 'Value':
      return 'google.protobuf.Value';
    case 'JsonText':
      return 'string';
  }
}

function reservedText(name: string, plans: Plans): string {
  const reserved = [...plans.numbers.reservedOf(name)];
  if (reserved.length === 0) return '';
  const names = reserved.map(([member]) => `"${snakeCase(member)}"`).join(', ');
  return `  reserved ${reserved.map(([, number]) => number).join(', ')};\n  reserved ${names};\n`;
}

function comment(text: string, indent = ''): string {
  if (text === '') return '';
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > 100) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => `${indent}// ${line}\n`).join('');
}

/** What was said of each field, value and method, by its place; comments and order say nothing. */
function statements(text: string): Map<string, string> {
  const found = new Map<string, string>();
  const around: string[] = [];
  for (const line of text.split('\n').map((each) => each.trim())) {
    const [, opened] = /^(?:message|enum|service|oneof) (\w+) \{/.exec(line) ?? [];
    const [, method, types = ''] = /^rpc (\w+)(\(.*?\) returns \(.*?\))/.exec(line) ?? [];
    const [, label, member, number] = /^(?:(?!option )(.*?) )?(\w+) = (\d+);$/.exec(line) ?? [];
    if (line.startsWith('reserved ')) {
      const items = line.slice('reserved '.length, -1).split(', ');
      for (const item of items) found.set(`${around[0]} reserves ${item}`, 'so');
    }
    if (opened !== undefined && around.length === 0) found.set(opened, 'declared');
    if (method !== undefined) found.set(`${around[0]}.${method}`, types);
    if (member !== undefined) {
      const inOneof = around.length > 1 ? ` in ${around[1]}` : '';
      found.set(`${around[0]}.${member}`, `${label ?? ''} = ${number}${inOneof}`);
    }
    if (line.endsWith('{')) around.push(opened ?? '');
    if (line === '}') around.pop();
  }
  return found;
}

/** What clients of the committed text would trip over. A field may go when its number and name are reserved. */
export function protoBreaks(committed: string, text: string): string[] {
  const [before, now] = [statements(committed), statements(text)];
  return [...before].flatMap(([place, said]) => {
    const found = now.get(place);
    if (found === said) return [];
    if (place.includes(' reserves ')) return [`${place} no more`];
    if (found !== undefined) return [`${place} was ${said} and is ${found}`];
    const [parent = '', member = ''] = place.split('.');
    return now.has(`${parent} reserves "${member}"`) ? [] : [`${place} is gone`];
  });
}
