// The words in which every shape is written: TypeBox (type.ts), plain JSON Schema with a TypeScript type, plus a
// few marks. A schema with a `title` is a component: the title is its OpenAPI, GraphQL and protobuf name, unique
// and PascalCase. Only keywords that OpenAPI 3.0 knows, or that translate mechanically (const, null unions), occur.
// A mark is an `x-…` keyword; ANNOTATIONS lists them all, for validators that want to know every keyword.

import type { Static, TNull, TObject, TProperties, TSchema, TUnion, TUnsafe } from 'typebox';
import type { ErrorCode } from './errors.ts';
import { Type } from './type.ts';
import { tableOf } from './typed-object.ts';

/** The major versions of the interface, oldest first. */
export const VERSIONS = ['v1', 'v2'] as const;
export type Version = (typeof VERSIONS)[number];

/** What the marks mean, by keyword. */
export const ANNOTATIONS = {
  'x-added-in': 'The version that brought this member; older ones do not have it.',
  'x-refused-as': 'The error code when this value, or one inside it, breaks a rule.',
  'x-refused-for': 'The keywords whose breach has that code; without it, all of them and all inside.',
  'x-must-be-tenant': 'Names the tenant of the call, else TENANT_MISMATCH, before anything is validated.',
  'x-expected':
    'What a value must be, in words that go on after "must be": what a pattern says to machines only.',
  'x-use': 'What a component is for at this place; its `description` says what it is anywhere.',
  'x-kept-as-text':
    'Hashed and stored as it is: nothing on the way in reads inside, so its text may be passed on.',
  'x-guarded':
    'Its value must not be guessed from the length of an answer, so answers that may have it are not compressed.',
  'x-left-to-operation':
    'Not validated by the gateway: the operation judges it, and the verdict is its answer.',
} as const;

/** A type that plain values enter freely, but that is not confused with another flavor of the same type. */
export type Flavor<T, Name extends string> = T & { readonly '~flavor'?: Name };

/** A rule that a value can break. */
export type Keyword = Exclude<keyof JsonSchema, `x-${string}`>;

/** A schema read as data: the keywords that occur in this package. */
export interface JsonSchema {
  readonly title?: string;
  readonly description?: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null';
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly discriminator?: { readonly propertyName: string };
  readonly default?: unknown;
  readonly readOnly?: boolean;
  readonly writeOnly?: boolean;
  readonly 'x-added-in'?: Version;
  readonly 'x-refused-as'?: ErrorCode;
  readonly 'x-refused-for'?: readonly Keyword[];
  readonly 'x-must-be-tenant'?: true;
  readonly 'x-expected'?: string;
  readonly 'x-use'?: string;
  readonly 'x-left-to-operation'?: true;
  readonly 'x-kept-as-text'?: true;
  readonly 'x-guarded'?: true;
}

export const asJson = (schema: TSchema): JsonSchema => schema;

/** A copy of the schema with keywords added. That it is optional is a hidden property: it comes along. */
function marked<S extends TSchema>(schema: S, keywords: JsonSchema): S {
  const copy: S = Object.create(Object.prototype, Object.getOwnPropertyDescriptors(schema));
  return Object.assign(copy, keywords);
}

/** An object that refuses members it does not know: what callers send. */
export function strictObject<P extends TProperties>(
  title: string,
  description: string,
  members: P,
): TObject<P> {
  return Type.Object(members, { title, description, additionalProperties: false });
}

/** An object to which later versions may add members: what the service answers. */
export function object<P extends TProperties>(title: string, description: string, members: P): TObject<P> {
  return Type.Object(members, { title, description });
}

export function optional<S extends TSchema>(schema: S) {
  return Type.Optional(schema);
}

/** The same schema with a sentence about its use here. A component keeps its own description beside it. */
export const doc = <S extends TSchema>(schema: S, sentence: string): S =>
  marked(schema, asJson(schema).title === undefined ? { description: sentence } : { 'x-use': sentence });

/** The value that stands in where the caller says nothing. */
export const byDefault = <S extends TSchema>(schema: S, value: unknown): S =>
  marked(schema, { default: value });

export const addedIn = <S extends TSchema>(version: Version, schema: S): S =>
  marked(schema, { 'x-added-in': version });

/** The code of a breach of this schema or one inside it; with keywords, of a breach of those here alone. */
export const refusedAs = <S extends TSchema>(
  code: ErrorCode,
  schema: S,
  ...keywords: readonly Keyword[]
): S => marked(schema, { 'x-refused-as': code, ...(keywords.length > 0 && { 'x-refused-for': keywords }) });

export const keptAsText = <S extends TSchema>(schema: S): S => marked(schema, { 'x-kept-as-text': true });

export const guarded = <S extends TSchema>(schema: S): S => marked(schema, { 'x-guarded': true });

export const leftToOperation = <S extends TSchema>(schema: S): S =>
  marked(schema, { 'x-left-to-operation': true });

/** One of a closed list of words. (`Type.Enum` leaves `type` out, which OpenAPI 3.0 and strict Ajv need.) */
export function choice<const W extends string>(
  title: string,
  description: string,
  words: readonly W[],
): TUnsafe<W> {
  return Type.Unsafe<W>({ title, description, type: 'string', enum: [...words] });
}

export function orNull<S extends TSchema>(schema: S, description?: string): TUnion<[S, TNull]> {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

export function arrayOf<S extends TSchema>(items: S, options: { minItems?: number; maxItems?: number } = {}) {
  return Type.Array(items, options);
}

/** Any keys, values of one shape. (`Type.Record` writes patternProperties, which OpenAPI 3.0 lacks.) */
export function mapOf<S extends TSchema>(
  values: S,
  options: { description?: string; maxProperties?: number } = {},
) {
  return Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: values, ...options });
}

/** An object whose content is the caller's own; nothing in it is read, dropped or refused here. */
export function freeObject(description: string): TUnsafe<Record<string, unknown>> {
  return Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description });
}

/** One of several objects, told apart by the member `tag`, which is a literal in each of them. */
export function variants<V extends readonly TObject[]>(
  title: string,
  description: string,
  tag: string,
  of: readonly [...V],
): TUnsafe<Static<V[number]>> {
  return Type.Unsafe<Static<V[number]>>({
    title,
    description,
    type: 'object',
    discriminator: { propertyName: tag },
    oneOf: [...of],
  });
}

/** One of several objects without a common tag. Answers only: there is no good error message for a request. */
export function either<V extends readonly TObject[]>(
  title: string,
  description: string,
  of: readonly [...V],
) {
  return Type.Unsafe<Static<V[number]>>({ title, description, anyOf: [...of] });
}

/** Members that belong to the service. A caller may send back what it read; they are dropped unseen. */
export function readOnly<const N extends string>(...names: readonly N[]) {
  const ignored = () =>
    Type.Optional(Type.Unknown({ readOnly: true, description: 'Set by the service; ignored.' }));
  return tableOf(names.map((name) => [name, ignored()] as const));
}
