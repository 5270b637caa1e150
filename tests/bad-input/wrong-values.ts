// What breaks a schema of an OpenAPI document: for each rule of it a value that breaks this rule, as JSON text, with the path of
// the member that an answer has to name.

export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly nullable?: boolean;
  readonly readOnly?: boolean;
  readonly writeOnly?: boolean;
  readonly discriminator?: {
    readonly propertyName: string;
    readonly mapping: Readonly<Record<string, string>>;
  };
}

export interface WrongValue {
  readonly what: string;
  readonly json: string;
  /** Where it is, from the body on. */
  readonly field: string;
  /** The value is one that nobody may see again. */
  readonly isSecret: boolean;
}

/** In each wrong value of a secret. */
export const CANARY = 'canary-in-a-coal-mine';
const DEPTH_MAX = 5;

const OTHER_TYPES: readonly (readonly [type: string, json: string])[] = [
  ['number', '5'],
  ['string', JSON.stringify(CANARY)],
  ['boolean', 'true'],
  ['array', `[${JSON.stringify(CANARY)}]`],
  ['object', `{"a":${JSON.stringify(CANARY)}}`],
];

/** Names that a lookup in an object of JavaScript finds. */
const PROTOTYPE_NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];

const WRONG_FORMATS: Readonly<Record<string, readonly string[]>> = {
  'date-time': ['yesterday', '2025-02-30T00:00:00Z', '2026-01-01', '2026-01-01T00:00:00'],
  uuid: ['x', '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d1'],
  ulid: ['x', '81KE0000000000000000000042'],
  duration: ['x', 'P', '1 day', '-P1D'],
  uri: ['x', 'http://'],
  network: ['300.0.0.1', '10.0.0.0/33', 'x'],
};

/** One of them breaks nearly any pattern. */
const TEXTS = ['', ' ', '\n', '-', '0', 'a b', '!', 'ä', '9'.repeat(300)];

export class WrongValues {
  readonly #components: Readonly<Record<string, Schema>>;

  constructor(components: Readonly<Record<string, Schema>>) {
    this.#components = components;
  }

  /** Without references, and with what stands beside one. */
  resolved(schema: Schema): Schema {
    const { $ref, allOf, ...others } = schema;
    const parts = [...($ref === undefined ? [] : [this.#named($ref)]), ...(allOf ?? [])];
    return parts.reduce<Schema>((all, part) => ({ ...this.resolved(part), ...all }), others);
  }

  #named(reference: string): Schema {
    return this.#components[reference.split('/').at(-1)!]!;
  }

  /** All that is wrong with a body of this schema but its members, and then each of them. */
  *ofBody(schema: Schema): Generator<WrongValue> {
    yield* this.#of(this.resolved(schema), '', (json) => json, 0);
  }

  /** As texts, for the query. */
  *ofParameter(schema: Schema): Generator<readonly [what: string, text: string]> {
    const found = this.resolved(schema);
    const item = found.type === 'array' ? this.resolved(found.items!) : found;
    if (item.type === 'integer')
      for (const text of ['x', '', '1.5', '-1', '1e400', '9'.repeat(30), '0x10', '١']) yield [text, text];
    if (item.type === 'boolean') for (const text of ['maybe', 'TRUE', '1', '']) yield [text, text];
    if (item.enum !== undefined)
      for (const text of ['Nope', ...PROTOTYPE_NAMES, item.enum[0]!.toLowerCase() + '\0']) yield [text, text];
    for (const text of WRONG_FORMATS[item.format ?? ''] ?? []) yield [text, text];
    if (item.maxLength !== undefined) yield ['too long', 'a'.repeat(item.maxLength + 1)];
    if (found.maxItems !== undefined && item.enum !== undefined)
      yield ['too many', Array.from({ length: found.maxItems + 1 }, () => item.enum![0]).join(',')];
  }

  *#of(schema: Schema, field: string, wrap: (json: string) => string, depth: number): Generator<WrongValue> {
    const isSecret = schema.writeOnly === true || schema.format === 'password';
    const wrong = (what: string, json: string): WrongValue => ({ what, json: wrap(json), field, isSecret });
    const { type } = schema;
    if (type !== undefined)
      for (const [other, json] of OTHER_TYPES)
        if (other !== (type === 'integer' ? 'number' : type))
          yield wrong(`${other} in place of ${type}`, json);
    if (type === 'string') yield* textsAgainst(schema, wrong);
    if (type === 'integer' || type === 'number') yield* numbersAgainst(schema, wrong);
    if (type === 'array') yield* this.#lists(schema, field, wrap, depth, wrong);
    if (type === 'object' && depth < DEPTH_MAX) yield* this.#members(schema, field, wrap, depth);
  }

  *#lists(
    { items, minItems = 0, maxItems }: Schema,
    field: string,
    wrap: (json: string) => string,
    depth: number,
    wrong: (what: string, json: string) => WrongValue,
  ): Generator<WrongValue> {
    if (minItems > 0) yield wrong('an empty list', '[]');
    if (maxItems !== undefined)
      yield wrong(
        'too many items',
        `[${Array(maxItems + 1)
          .fill('{}')
          .join(',')}]`,
      );
    yield wrong('a list of null', '[null]');
    if (items === undefined) return;
    yield* this.#of(this.resolved(items), `${field}[0]`, (json) => wrap(`[${json}]`), depth + 1);
  }

  *#members(
    schema: Schema,
    field: string,
    wrap: (json: string) => string,
    depth: number,
  ): Generator<WrongValue> {
    const at = (name: string) => (field === '' ? name : `${field}.${name}`);
    const wrong = (what: string, json: string, name: string): WrongValue => ({
      what,
      json: wrap(json),
      field: at(name),
      isSecret: false,
    });
    if (schema.discriminator !== undefined) {
      const { propertyName, mapping } = schema.discriminator;
      yield wrong('a kind that there is not', `{"${propertyName}":"Nope"}`, propertyName);
      for (const [kind, reference] of Object.entries(mapping)) {
        const inKind = (json: string) =>
          wrap(
            json.replace(
              /^\{(?=(\})?)/,
              (_, end) => `{"${propertyName}":"${kind}"${end === undefined ? ',' : ''}`,
            ),
          );
        const { [propertyName]: _, ...properties } = this.#named(reference).properties ?? {};
        yield* this.#members({ ...this.#named(reference), properties }, field, inKind, depth);
      }
      return;
    }
    if (schema.additionalProperties === false)
      for (const name of ['unknown', ...PROTOTYPE_NAMES])
        yield wrong(`the unknown member ${name}`, `{"${name}":1}`, name);
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      const inside = this.resolved(member);
      if (inside.readOnly === true) continue;
      if (schema.required?.includes(name) === true) {
        yield wrong(`no ${name}`, '{}', name);
        if (inside.nullable !== true) yield wrong(`${name} null`, `{"${name}":null}`, name);
      }
      yield* this.#of(inside, at(name), (json) => wrap(`{"${name}":${json}}`), depth + 1);
    }
    const first = Object.keys(schema.properties ?? {})[0];
    if (first !== undefined) yield wrong(`${first} twice`, `{"${first}":null,"${first}":null}`, first);
  }
}

function* textsAgainst(
  schema: Schema,
  wrong: (what: string, json: string) => WrongValue,
): Generator<WrongValue> {
  const { enum: words, minLength = 0, maxLength, pattern, format } = schema;
  const text = (what: string, value: string) => wrong(what, JSON.stringify(value));
  if (words !== undefined)
    for (const word of ['Nope', ...PROTOTYPE_NAMES, `${words[0]} `]) yield text(`the word ${word}`, word);
  if (minLength > 0) yield text('an empty text', '');
  if (maxLength !== undefined) yield text('too long', CANARY.padEnd(maxLength + 1, 'a'));
  for (const value of WRONG_FORMATS[format ?? ''] ?? []) yield text(`no ${format}: ${value}`, value);
  if (pattern !== undefined) {
    const value = TEXTS.find((each) => !new RegExp(pattern, 'u').test(each));
    if (value !== undefined) yield text(`not of its pattern: ${JSON.stringify(value)}`, value);
  }
  yield wrong('half a surrogate', `"${CANARY}\\ud800"`);
  yield wrong('U+0000', `"${CANARY}\\u0000"`);
}

function* numbersAgainst(
  { type, minimum, maximum }: Schema,
  wrong: (what: string, json: string) => WrongValue,
): Generator<WrongValue> {
  if (type === 'integer') yield wrong('a fraction', '1.5');
  if (minimum !== undefined) yield wrong('too small', String(minimum - 1));
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
    yield wrong('too large', String(maximum + 1));
  for (const json of ['1e400', '9007199254740993', '9'.repeat(400)]) yield wrong(json.slice(0, 20), json);
}
