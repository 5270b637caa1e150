// Describes the fault of a value in words that follow the name of its field: `must be 1 to 512 characters; it has 600`.
// They say what is expected – an example, the allowed words, the limit – and what was found where that is a length, a
// count or a kind. A text is not quoted here: the detail shows it beside, unless it is a secret. Only a query parameter
// is quoted: there everything is text, so that its kind would tell nothing.

import { cutText, EXPECTED_OF_FORMAT, type JsonSchema } from '@tallystick/contract';
import { countCharacters, type Fault } from './schema-check.ts';

/** `isInQuery`: the value was sent as text, for every type. */
export function issueOf({ keyword, schema, value, at }: Fault, isInQuery = false): string {
  // Only a parameter that was sent several times has several texts where one is asked for.
  if (isInQuery && Array.isArray(value) && schema.type !== 'array') {
    return `must be sent once; it was sent ${value.length} times`;
  }
  switch (keyword) {
    case 'required':
      return required(schema.properties?.[String(at?.key)]);
    case 'additionalProperties':
      return 'is not a known field';
    case 'type':
      return `must be ${expected(schema)}; it is ${isInQuery ? quotedOrKind(value) : kindOf(value)}`;
    case 'minimum':
    case 'maximum':
      return `must be ${expected(schema)}; it is ${String(value)}`;
    case 'minLength':
    case 'maxLength':
      return `must be ${range(schema.minLength, schema.maxLength)} characters; it has ${lengthOf(value)}`;
    case 'minItems':
    case 'maxItems':
      return `must have ${range(schema.minItems, schema.maxItems)} items; it has ${countOf(value)}`;
    case 'maxProperties':
      return `must have ${range(undefined, schema.maxProperties)} members; it has ${countOf(value)}`;
    case 'discriminator':
      return value === undefined ? required(tagOf(schema)) : `must be ${expected(tagOf(schema))}`;
    case 'format':
    case 'pattern':
    case 'enum':
    case 'const':
      return `must be ${expected(schema)}`;
  }
}

/** The members that the object at fault may have; those that are ignored are none of them. */
export function knownMembers({ schema: { properties = {} } }: Fault): string[] {
  return Object.keys(properties).filter((name) => properties[name]?.readOnly !== true);
}

function required(schema: JsonSchema | undefined): string {
  return schema === undefined ? 'is required' : `is required: ${expected(schema)}`;
}

/** What a value must be: words that go on after "must be". */
function expected(schema: JsonSchema): string {
  const words = schema['x-expected'] ?? EXPECTED_OF_FORMAT[schema.format ?? ''];
  if (words !== undefined) return words;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum.length === 1 ? schema.enum.join() : oneOf(schema.enum);
  return schema.type === undefined ? 'any value' : EXPECTED_OF_TYPE[schema.type](schema);
}

const EXPECTED_OF_TYPE: Readonly<Record<NonNullable<JsonSchema['type']>, (schema: JsonSchema) => string>> = {
  string: ({ minLength, maxLength }) => sized('text', range(minLength, maxLength), 'characters'),
  array: ({ minItems, maxItems }) => sized('a list', range(minItems, maxItems), 'items'),
  integer: (schema) => `a whole number${bounds(schema)}`,
  number: (schema) => `a number${bounds(schema)}`,
  boolean: () => 'true or false',
  object: (schema) => objectWith(schema.discriminator === undefined ? schema.required : [tagName(schema)]),
  null: () => 'null',
};

const oneOf = (words: readonly string[]): string => `one of ${words.join(', ')}`;

const objectWith = (members: readonly string[] = []): string =>
  members.length === 0 ? 'an object' : `an object with ${members.join(', ')}`;

function sized(what: string, size: string, unit: string): string {
  return size === '' ? what : `${what} of ${size} ${unit}`;
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return min === max ? String(min) : `${min} to ${max}`;
  if (max !== undefined) return `at most ${max}`;
  return min === undefined ? '' : `${min} or more`;
}

function bounds({ minimum, maximum }: JsonSchema): string {
  const within = range(minimum, maximum);
  if (within === '') return '';
  return minimum !== undefined && maximum !== undefined ? ` from ${within}` : ` of ${within}`;
}

const tagName = (schema: JsonSchema): string => schema.discriminator?.propertyName ?? '';

/** The member that tells variants apart, as a choice among the words of all of them. */
function tagOf(schema: JsonSchema): JsonSchema {
  const words = (schema.oneOf ?? []).map((variant) => variant.properties?.[tagName(schema)]?.const ?? '');
  return { type: 'string', enum: words };
}

function quotedOrKind(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(cutText(value)) : kindOf(value);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'a boolean';
  if (typeof value !== 'number') return 'an object';
  return Number.isInteger(value) ? 'a number' : 'a number with a fraction';
}

/** Items or members. */
function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length : Object.keys(Object(value)).length;
}

/** Above this number of UTF-16 units, the characters of a text are not counted exactly. */
const COUNTED_UNITS_MAX = 10_000;

function lengthOf(value: unknown): string {
  const text = String(value);
  if (text.length <= COUNTED_UNITS_MAX) return String(countCharacters(text));
  return `over ${COUNTED_UNITS_MAX / 2}`;
}
