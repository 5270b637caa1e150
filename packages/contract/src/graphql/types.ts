// The contract's schemas as types of GraphQL: what has a title becomes a type of its own, with `Input` behind its name where
// it is sent. DESIGN.md has the table. Defaults are not among them: a repeat is recognised by what was sent.

import type { JsonSchema, Version } from '../schema.ts';
import { DEPRECATED, ETAG_TYPES, LINKS, SHARED } from './links.ts';

export type Direction = 'Input' | 'Output';

/** A field or an argument, and the member of the schema that it is. */
export interface FieldText {
  readonly name: string;
  readonly type: string;
  readonly description?: string | undefined;
  readonly args?: readonly FieldText[];
  readonly deprecated?: string | undefined;
}

const INT_MAX = 2 ** 31 - 1;
const WORD = /^[_A-Za-z][_0-9A-Za-z]*$/;

const SCALARS = {
  DateTime:
    'An instant, ISO 8601, as text in both directions: its fraction is kept as it was sent. @specifiedBy(url: "https://scalars.graphql.org/andimarek/date-time.html")',
  JSON: 'Any JSON. Numbers are those that a double holds exactly, keys are not repeated.',
  Long: 'A whole number up to 2^53−1, as a JSON number; also taken as text of digits.',
} as const;

/** Collects the types of one version while they are asked for. */
export class GraphqlTypes {
  readonly #version: Version;
  readonly #definitions = new Map<string, string>();
  readonly #objects = new Map<string, ObjectText>();

  constructor(version: Version) {
    this.#version = version;
    for (const [name, text] of Object.entries(SCALARS)) {
      const [description = '', url] = text.split(' @specifiedBy');
      const specified = url === undefined ? '' : ` @specifiedBy${url}`;
      this.define(name, `${described(description)}scalar ${name}${specified}`);
    }
  }

  define(name: string, text: string): void {
    this.#definitions.set(name, text);
  }

  has(name: string): boolean {
    return this.#definitions.has(name);
  }

  /** By name. */
  texts(): string[] {
    for (const [name, object] of this.#objects) this.define(name, objectText(name, object));
    return [...this.#definitions].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  /** The type of a value where it must be there. */
  required(schema: JsonSchema, direction: Direction): string {
    const type = this.optional(schema, direction);
    return isNullable(schema) || isAnything(schema) ? type : `${type}!`;
  }

  /** The type of a value that may be absent. */
  optional(schema: JsonSchema, direction: Direction): string {
    const inner = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
    if (isNullable(schema)) return this.optional(inner[0]!, direction);
    if (schema.items !== undefined) return `[${this.required(schema.items, direction)}]`;
    if (schema.title !== undefined) {
      if (schema.properties !== undefined) return this.#object(schema.title, schema, direction);
      if (schema.oneOf !== undefined || schema.anyOf !== undefined)
        return this.#union(schema.title, schema, direction);
      if (schema.enum?.every((word) => WORD.test(word)) === true) return this.#enum(schema.title, schema);
    }
    return scalarOf(schema);
  }

  #object(title: string, schema: JsonSchema, direction: Direction): string {
    if (direction === 'Input') return this.#input(title, schema);
    if (this.has(title)) return title;
    // Its place first: what is inside may lead back here.
    this.define(title, '');
    const object: ObjectText = { description: schema.description, fields: [], interfaces: new Map() };
    this.#objects.set(title, object);
    object.fields.push(
      ...this.fieldsOf(schema, 'Output').map((each) => ({
        ...each,
        deprecated: DEPRECATED[this.#version]?.[`${title}.${each.name}`],
      })),
      ...(LINKS[this.#version]?.[title] ?? []),
      ...(ETAG_TYPES.includes(title) ? [ETAG] : []),
    );
    return title;
  }

  #input(title: string, schema: JsonSchema): string {
    const name = inputName(title);
    if (this.has(name)) return name;
    this.define(name, '');
    const fields = this.fieldsOf(schema, 'Input');
    this.define(name, `${described(schema.description)}input ${name} {\n${fieldLines(fields)}\n}`);
    return name;
  }

  fieldsOf({ properties = {}, required = [] }: JsonSchema, direction: Direction): FieldText[] {
    return Object.entries(properties)
      .filter(([, member]) => direction === 'Input' || member.readOnly !== true)
      .map(([name, member]) => ({
        name,
        type: required.includes(name) ? this.required(member, direction) : this.optional(member, direction),
        description: descriptionOf(member),
      }));
  }

  /** GraphQL has no unions of inputs: one object takes the members of all shapes, and the service says which belong together. */
  #union(title: string, schema: JsonSchema, direction: Direction): string {
    const branches = schema.oneOf ?? schema.anyOf ?? [];
    if (direction === 'Input') return this.#input(title, merged(schema));
    if (this.has(title)) return title;
    this.define(title, '');
    const members = branches.map((branch) => this.optional(branch, 'Output'));
    if (SHARED.includes(title)) {
      const shapes = members.map((name) => this.#objects.get(name)!);
      const fields = sharedFields(shapes);
      for (const { interfaces } of shapes) interfaces.set(title, fields);
      this.define(title, `${described(schema.description)}interface ${title} {\n${fieldLines(fields)}\n}`);
      return title;
    }
    this.define(title, `${described(schema.description)}union ${title} = ${members.join(' | ')}`);
    return title;
  }

  #enum(title: string, { description, enum: words = [] }: JsonSchema): string {
    if (!this.has(title)) {
      this.define(
        title,
        `${described(description)}enum ${title} {\n${words.map((word) => `  ${word}`).join('\n')}\n}`,
      );
    }
    return title;
  }
}

/** An object type while it is collected. */
interface ObjectText {
  readonly description: string | undefined;
  readonly fields: FieldText[];
  /** Those that it implements, each with its fields. */
  readonly interfaces: Map<string, readonly FieldText[]>;
}

function objectText(name: string, { description, fields, interfaces }: ObjectText): string {
  const implemented = interfaces.size === 0 ? '' : ` implements ${[...interfaces.keys()].join(' & ')}`;
  const owned = new Set(fields.map((field) => field.name));
  const absent = [...interfaces.values()].flat().filter((field) => !owned.has(field.name));
  const byName = new Map(absent.map((field) => [field.name, { ...field, description: 'Null here.' }]));
  return `${described(description)}type ${name}${implemented} {\n${fieldLines([...fields, ...byName.values()])}\n}`;
}

/** The members of all shapes; those that not all have may be null. */
function sharedFields(shapes: readonly ObjectText[]): FieldText[] {
  const byName = new Map(shapes.flatMap(({ fields }) => fields.map((field) => [field.name, field] as const)));
  const isInAll = (name: string) => shapes.every(({ fields }) => fields.some((field) => field.name === name));
  return [...byName.values()].map((field) =>
    isInAll(field.name) ? field : { ...field, type: field.type.replace(/!$/, '') },
  );
}

/** One object with the members of all shapes; of the tag it is said which shapes there are. */
function merged({ description = '', oneOf = [], discriminator }: JsonSchema): JsonSchema {
  const tag = discriminator?.propertyName ?? '';
  const tags = oneOf.map(({ properties }) => properties?.[tag]?.const ?? '');
  const properties = Object.fromEntries(oneOf.flatMap((shape) => Object.entries(shape.properties ?? {})));
  const requiredByAll = oneOf.map(({ required = [] }) => required);
  return {
    description,
    required: requiredByAll.reduce((some, each) => some.filter((name) => each.includes(name))),
    properties: { ...properties, [tag]: { type: 'string', 'x-expected': tags.join(', or ') } },
  };
}

const ETAG: FieldText = {
  name: 'etag',
  type: 'String',
  description: 'What `ifMatch` takes, to change this version only. Lists do not know it of all types.',
};

/** Two of its branches are null and another: then it is that other, or null. */
function isNullable({ anyOf = [] }: JsonSchema): boolean {
  return anyOf.some(({ type }) => type === 'null');
}

function isAnything(schema: JsonSchema): boolean {
  return schema.type === undefined && schema.anyOf === undefined && schema.oneOf === undefined;
}

function scalarOf({ type, format, maximum }: JsonSchema): string {
  if (type === 'string') {
    if (format === 'date-time') return 'DateTime';
    return format === 'ulid' || format === 'uuid' ? 'ID' : 'String';
  }
  if (type === 'integer') return maximum !== undefined && maximum <= INT_MAX ? 'Int' : 'Long';
  if (type === 'number') return 'Float';
  return type === 'boolean' ? 'Boolean' : 'JSON';
}

export const inputName = (title: string): string => `${title}Input`;

/** What is said of a member: of its use here, or of what it is; and its words, where GraphQL has no enum of them. */
export function descriptionOf(schema: JsonSchema): string | undefined {
  const { description, 'x-use': use, 'x-expected': expected, enum: words } = schema;
  const strange = words?.every((word) => WORD.test(word)) === false ? words : undefined;
  const parts = [
    use ?? (schema.title === undefined || strange !== undefined ? description : undefined),
    expected === undefined ? undefined : `Must be ${expected}.`,
    strange === undefined ? undefined : `One of ${strange.map((word) => `\`${word}\``).join(', ')}.`,
    schema.const === undefined ? undefined : `Always \`${schema.const}\`.`,
    schema.default === undefined ? undefined : `By default ${JSON.stringify(schema.default)}.`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(' ');
}

/** A description before what it describes; the text of GraphQL has the escapes of JSON. */
export function described(description: string | undefined, indent = ''): string {
  return description === undefined ? '' : `${indent}${JSON.stringify(description)}\n`;
}

export function fieldLines(fields: readonly FieldText[]): string {
  return fields.map((field) => fieldLine(field)).join('\n');
}

function fieldLine({ name, type, description, args = [], deprecated }: FieldText): string {
  const given = args.length === 0 ? '' : `(\n${args.map((each) => argLine(each)).join('\n')}\n  )`;
  const mark = deprecated === undefined ? '' : ` @deprecated(reason: ${JSON.stringify(deprecated)})`;
  return `${described(description, '  ')}  ${name}${given}: ${type}${mark}`;
}

const argLine = ({ name, type, description }: FieldText): string =>
  `${described(description, '    ')}    ${name}: ${type}`;
