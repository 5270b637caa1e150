// Compares a value with a schema of the contract and lists what is wrong with it. The check stops at the limit of
// details that an error shows, and a list or a map is counted before its items are looked at, so that no value costs
// more to refuse than a sound one to take. Knows exactly the keywords that `JsonSchema` has.

import { type ErrorCode, FORMATS, type JsonSchema, type Keyword, LIMITS } from '@tallystick/contract';

/** The keywords that a value can break; the others only describe or divide. */
export type BrokenKeyword = Exclude<
  Keyword,
  'title' | 'description' | 'items' | 'properties' | 'anyOf' | 'oneOf' | 'default' | 'readOnly' | 'writeOnly'
>;

/** Where a value stands: the members and items that lead to it, innermost first. */
export interface ValuePath {
  readonly parent: ValuePath | undefined;
  /** A member's name, or an item's index. */
  readonly key: string | number;
}

export interface Fault {
  readonly keyword: BrokenKeyword;
  /** The schema that has the keyword. */
  readonly schema: JsonSchema;
  readonly value: unknown;
  /** Of the value at fault; of a member that is missing or unknown, where it should be or is. */
  readonly at: ValuePath | undefined;
  /** The code that the schema, or the nearest one around it, asks for. */
  readonly code: ErrorCode | undefined;
  /** For an unknown member: whether it is the first one of its object. */
  readonly isFirst?: boolean;
}

/** Lists the faults of a value, at most `max` of them. */
export type SchemaCheck = (value: unknown, max?: number) => readonly Fault[];

export interface SchemaCheckOptions {
  /** Absent members get the default that their schema names, in place. */
  readonly fillsDefaults: boolean;
}

export function createSchemaCheck(schema: JsonSchema, { fillsDefaults }: SchemaCheckOptions): SchemaCheck {
  const check = compile(schema, undefined);
  return (value, max = LIMITS.errorDetailsMax) => {
    const walk: Walk = { faults: NONE, max, fillsDefaults };
    check(value, undefined, walk);
    return walk.faults;
  };
}

const NONE: Fault[] = [];

interface Walk {
  faults: Fault[];
  readonly max: number;
  readonly fillsDefaults: boolean;
}

type Check = (value: unknown, at: ValuePath | undefined, walk: Walk) => void;

function report(walk: Walk, fault: Fault): void {
  if (walk.faults === NONE) walk.faults = [];
  if (!isFull(walk)) walk.faults.push(fault);
}

function isFull({ faults, max }: Walk): boolean {
  return faults.length >= max;
}

/** `around` is the code that a schema around this one asks for. */
function compile(schema: JsonSchema, around: ErrorCode | undefined): Check {
  const own = schema['x-refused-as'];
  const onlyFor = schema['x-refused-for'];
  const inner = onlyFor === undefined ? (own ?? around) : around;
  const codeOf = (keyword: BrokenKeyword) => (onlyFor?.includes(keyword) === true ? own : inner);
  if (schema.discriminator !== undefined) return variantCheck(schema, inner, codeOf);
  if (schema.anyOf !== undefined) return unionCheck(schema.anyOf, inner);
  switch (schema.type) {
    case 'object':
      return objectCheck(schema, inner, codeOf);
    case 'array':
      return listCheck(schema, inner, codeOf);
    case 'string':
      return textCheck(schema, codeOf);
    case 'integer':
    case 'number':
      return numberCheck(schema, codeOf);
    case 'boolean':
      return typeCheck(schema, codeOf, (value) => typeof value === 'boolean');
    case 'null':
      return typeCheck(schema, codeOf, (value) => value === null);
    case undefined:
    default:
      return acceptAll;
  }
}

type CodeOf = (keyword: BrokenKeyword) => ErrorCode | undefined;

const acceptAll: Check = () => {};

function typeCheck(schema: JsonSchema, codeOf: CodeOf, accepts: (value: unknown) => boolean): Check {
  const code = codeOf('type');
  return (value, at, walk) => {
    if (!accepts(value)) report(walk, { keyword: 'type', schema, value, at, code });
  };
}

/** Of several broken rules of a text, reports the one that says most: the list of words, the format, the pattern. */
function textCheck(schema: JsonSchema, codeOf: CodeOf): Check {
  const { const: only, enum: words, format, maxLength = Infinity, minLength = 0 } = schema;
  const hasFormat = format === undefined ? undefined : FORMATS[format as keyof typeof FORMATS];
  const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u');
  const notText: BrokenKeyword = words !== undefined ? 'enum' : only !== undefined ? 'const' : 'type';
  const brokenBy = (text: string): BrokenKeyword | undefined => {
    if (only !== undefined && text !== only) return 'const';
    if (words !== undefined && !words.includes(text)) return 'enum';
    if (hasFormat !== undefined && !hasFormat(text)) return 'format';
    if (pattern !== undefined && !pattern.test(text)) return 'pattern';
    return isShorter(text, minLength) ? 'minLength' : undefined;
  };
  return (value, at, walk) => {
    const isText = typeof value === 'string';
    const keyword = isText ? brokenBy(value) : notText;
    if (keyword !== undefined) report(walk, { keyword, schema, value, at, code: codeOf(keyword) });
    if (isText && isLonger(value, maxLength))
      report(walk, { keyword: 'maxLength', schema, value, at, code: codeOf('maxLength') });
  };
}

function isShorter(text: string, minLength: number): boolean {
  return text.length < minLength || (text.length < 2 * minLength && countCharacters(text) < minLength);
}

function isLonger(text: string, maxLength: number): boolean {
  if (text.length <= maxLength) return false;
  return text.length > 2 * maxLength || countCharacters(text) > maxLength;
}

/** A pair of surrogates is one character. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function numberCheck(schema: JsonSchema, codeOf: CodeOf): Check {
  const { type, minimum = -Infinity, maximum = Infinity } = schema;
  const accepts = type === 'integer' ? Number.isInteger : Number.isFinite;
  const brokenBy = (value: unknown): BrokenKeyword | undefined => {
    if (!accepts(value)) return 'type';
    // Both predicates accept numbers only.
    if ((value as number) < minimum) return 'minimum';
    return (value as number) > maximum ? 'maximum' : undefined;
  };
  return (value, at, walk) => {
    const keyword = brokenBy(value);
    if (keyword !== undefined) report(walk, { keyword, schema, value, at, code: codeOf(keyword) });
  };
}

function listCheck(schema: JsonSchema, inner: ErrorCode | undefined, codeOf: CodeOf): Check {
  const { minItems = 0, maxItems = Infinity } = schema;
  const checkItem = schema.items === undefined ? acceptAll : compile(schema.items, inner);
  const brokenBy = (value: unknown): BrokenKeyword | undefined => {
    if (!Array.isArray(value)) return 'type';
    if (value.length < minItems) return 'minItems';
    return value.length > maxItems ? 'maxItems' : undefined;
  };
  return (value, at, walk) => {
    const keyword = brokenBy(value);
    if (keyword !== undefined) return report(walk, { keyword, schema, value, at, code: codeOf(keyword) });
    // Anything but a list has been reported.
    const items = value as readonly unknown[];
    if (checkItem === acceptAll) return;
    for (let index = 0; index < items.length && !isFull(walk); index++) {
      checkItem(items[index], { parent: at, key: index }, walk);
    }
  };
}

interface Member {
  readonly name: string;
  readonly check: Check;
  readonly isRequired: boolean;
  readonly byDefault: unknown;
}

type Members = Record<string, unknown>;

function objectCheck(schema: JsonSchema, inner: ErrorCode | undefined, codeOf: CodeOf): Check {
  const { properties = {}, required = [], additionalProperties = true, maxProperties = Infinity } = schema;
  const members = Object.entries(properties).map(
    ([name, member]): Member => ({
      name,
      check: compile(member, inner),
      isRequired: required.includes(name),
      byDefault: member.default,
    }),
  );
  const known = new Set(Object.keys(properties));
  const checkOther = otherCheck(schema, additionalProperties, inner, codeOf);
  return (value, at, walk) => {
    if (!isObject(value)) return report(walk, { keyword: 'type', schema, value, at, code: codeOf('type') });
    if (hasMore(value, maxProperties))
      return report(walk, { keyword: 'maxProperties', schema, value, at, code: codeOf('maxProperties') });
    if (walk.fillsDefaults) fillDefaults(members, value);
    for (const { name, isRequired } of members) {
      if (!isRequired || Object.hasOwn(value, name)) continue;
      const missing = { parent: at, key: name };
      report(walk, { keyword: 'required', schema, value: undefined, at: missing, code: codeOf('required') });
    }
    if (checkOther !== undefined) checkOthers(value, known, checkOther, at, walk);
    for (const { name, check } of members) {
      if (isFull(walk)) return;
      if (Object.hasOwn(value, name)) check(value[name], { parent: at, key: name }, walk);
    }
  };
}

/** Checks a member that the schema does not name. */
type OtherCheck = (value: unknown, at: ValuePath, walk: Walk, isFirst: boolean) => void;

function otherCheck(
  schema: JsonSchema,
  allowed: boolean | JsonSchema,
  inner: ErrorCode | undefined,
  codeOf: CodeOf,
): OtherCheck | undefined {
  if (allowed === true) return undefined;
  if (allowed !== false) return compile(allowed, inner);
  const keyword = 'additionalProperties';
  const code = codeOf(keyword);
  return (_, at, walk, isFirst) => report(walk, { keyword, schema, value: undefined, at, code, isFirst });
}

function checkOthers(
  value: Members,
  known: ReadonlySet<string>,
  check: OtherCheck,
  at: ValuePath | undefined,
  walk: Walk,
): void {
  let isFirst = true;
  for (const name in value) {
    if (known.has(name) || !Object.hasOwn(value, name)) continue;
    if (isFull(walk)) return;
    check(value[name], { parent: at, key: name }, walk, isFirst);
    isFirst = false;
  }
}

function fillDefaults(members: readonly Member[], value: Members): void {
  for (const { name, byDefault } of members) {
    if (byDefault !== undefined && !Object.hasOwn(value, name)) value[name] = structuredClone(byDefault);
  }
}

function hasMore(value: Members, maxProperties: number): boolean {
  return maxProperties !== Infinity && Object.keys(value).length > maxProperties;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The tag decides which variant the value is checked against. */
function variantCheck(schema: JsonSchema, inner: ErrorCode | undefined, codeOf: CodeOf): Check {
  const tag = schema.discriminator?.propertyName ?? '';
  const checkOf = new Map<unknown, Check>();
  for (const variant of schema.oneOf ?? []) {
    checkOf.set(variant.properties?.[tag]?.const, compile(variant, inner));
  }
  return (value, at, walk) => {
    if (!isObject(value)) return report(walk, { keyword: 'type', schema, value, at, code: codeOf('type') });
    const named = Object.hasOwn(value, tag) ? value[tag] : undefined;
    const check = checkOf.get(named);
    if (check !== undefined) return check(value, at, walk);
    const [keyword, place] = ['discriminator' as const, { parent: at, key: tag }];
    report(walk, { keyword, schema, value: named, at: place, code: codeOf(keyword) });
  };
}

/** A value that is not null is checked against the other branch; of several, against the first unless it fits another. */
function unionCheck(branches: readonly JsonSchema[], inner: ErrorCode | undefined): Check {
  const others = branches.filter(({ type }) => type !== 'null').map((branch) => compile(branch, inner));
  const takesNull = others.length < branches.length;
  return (value, at, walk) => {
    if (value === null && takesNull) return;
    const fits = (check: Check) => {
      const trial: Walk = { faults: NONE, max: 1, fillsDefaults: false };
      check(value, at, trial);
      return trial.faults.length === 0;
    };
    if (others.length > 1 && others.some(fits)) return;
    others[0]?.(value, at, walk);
  };
}
