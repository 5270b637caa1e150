// How each schema is said in Protocol Buffers: messages with their fields, as data. The `.proto` files, the descriptors
// that reflection shows and the codec of the server are all made from these plans.
//
// Text that is hashed or compared as it was sent – instants, durations, ids – stays text. Every single value is
// `optional`, also where the contract requires it: what is missing is then said by the gateway in its own words, and
// an answer shows 0, "" and false.

import type { JsonSchema } from '../schema.ts';
import { FIELD_NUMBERS } from './field-numbers.ts';
import { FieldNumbers } from './numbers.ts';

export type ScalarType = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'double';

export type FieldType =
  | { readonly kind: 'Scalar'; readonly of: ScalarType }
  | { readonly kind: 'Enum'; readonly of: EnumPlan }
  | { readonly kind: 'Message'; readonly of: MessagePlan }
  | { readonly kind: 'Map'; readonly of: FieldType }
  /** `google.protobuf.Struct`, and `Value`. */
  | { readonly kind: 'Struct' }
  | { readonly kind: 'Value' }
  /** An object as its JSON text, in the place of a Struct. */
  | { readonly kind: 'JsonText' };

export interface EnumPlan {
  readonly name: string;
  readonly description: string;
  /** Numbers by word; 0 is none of them. */
  readonly words: ReadonlyMap<string, number>;
}

export interface FieldPlan {
  /** In JSON: camelCase. */
  readonly name: string;
  /** The member of the contract that it fills. */
  readonly member: string;
  readonly protoName: string;
  readonly number: number;
  readonly type: FieldType;
  readonly isRepeated: boolean;
  /** A list, a map or null that must be there: over the wire an empty list is absent, and so is null. */
  readonly isRequired?: boolean;
  /** Empty bytes in the list stand for null. */
  readonly hasNullItems?: boolean;
  readonly oneof?: string;
  readonly description: string;
}

/**
 * Object: its members. Union: one field, which is the value itself. Tuple: the items of a list, named. List: one
 * repeated field, which is the value itself.
 */
export type MessageForm = 'Object' | 'Union' | 'Tuple' | 'List';

export interface MessagePlan {
  readonly name: string;
  readonly description: string;
  readonly form: MessageForm;
  readonly fields: readonly FieldPlan[];
}

/** Names members that are set to null, where the contract says that null means something. */
export const NULL_MEMBERS = 'nullMembers';

/** The names that the items of a list in a list have in a message. */
const TUPLES: Readonly<Record<string, readonly string[]>> = {
  OpenUnit: ['path', 'salt', 'value'],
  ClosedUnit: ['tag', 'commitment'],
};

const INT32_MAX = 2 ** 31 - 1;
const ENUM_WORD = /^[A-Za-z][A-Za-z0-9]*$/;

export const snakeCase = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();

/** All plans of one version. */
export class Plans {
  readonly messages = new Map<string, MessagePlan>();
  readonly enums = new Map<string, EnumPlan>();
  readonly numbers: FieldNumbers;

  constructor(numbers = new FieldNumbers(FIELD_NUMBERS)) {
    this.numbers = numbers;
  }

  /** The object of a schema as a message; several schemas of one title have the same members. */
  messageOf(schema: JsonSchema, name = schema.title): MessagePlan {
    if (name === undefined) throw new Error('a message needs a name');
    const known = this.messages.get(name);
    if (known !== undefined) return known;
    const branches = (schema.oneOf ?? schema.anyOf ?? []).filter(({ type }) => type !== 'null');
    const isTagged = schema.discriminator !== undefined;
    const members = isTagged
      ? Object.assign({}, ...branches.map(({ properties }) => properties))
      : (schema.properties ?? {});
    const described = { name, description: schema.description ?? '' };
    const plan: MessagePlan =
      branches.length > 1 && !isTagged
        ? { ...described, form: 'Union', fields: branches.map((branch) => this.#branch(name, branch)) }
        : { ...described, form: 'Object', fields: this.#members(name, members, schema) };
    return this.add(plan);
  }

  add(plan: MessagePlan): MessagePlan {
    this.messages.set(plan.name, plan);
    return plan;
  }

  field(message: string, member: string, schema: JsonSchema, isRequired = false): FieldPlan {
    const { type, isRepeated } = this.#typeOf(schema);
    const hasNullItems = isRepeated && schema.items?.anyOf !== undefined;
    return this.#field(message, member, type, {
      isRepeated,
      ...(isRequired && (isRepeated || type.kind === 'Map' || isNullable(schema)) && { isRequired }),
      ...(hasNullItems && { hasNullItems }),
      description: schema.description ?? '',
    });
  }

  #field(message: string, member: string, type: FieldType, more: Partial<FieldPlan> = {}): FieldPlan {
    const name = more.name ?? member;
    const number = this.numbers.numberOf(message, name);
    const named = { name, member, protoName: snakeCase(name), number, type };
    return { isRepeated: false, description: '', ...named, ...more };
  }

  #members(
    message: string,
    members: Readonly<Record<string, JsonSchema>>,
    { required = [], additionalProperties }: JsonSchema,
  ): FieldPlan[] {
    // What the service sets itself is ignored where it is sent, so there is no field for it.
    const sent = Object.entries(members).filter(([, schema]) => schema.readOnly !== true);
    const fields = sent.flatMap(([member, schema]) => {
      const field = this.field(message, member, described(schema), required.includes(member));
      return schema['x-kept-as-text'] === true ? this.#alsoAsText(message, field) : [field];
    });
    // What callers send: in an answer null is an absent field.
    const isSent = additionalProperties === false;
    if (!isSent || !sent.some(([, schema]) => schema.anyOf !== undefined)) return fields;
    const description = 'Members that are set to null, such as `clearance` or `headers.X-Old`.';
    const text = { kind: 'Scalar', of: 'string' } as const;
    return [...fields, this.#field(message, NULL_MEMBERS, text, { isRepeated: true, description })];
  }

  /** An object that is kept as its text may be sent as that, too: its numbers are then exactly what was written. */
  #alsoAsText(message: string, field: FieldPlan): FieldPlan[] {
    const oneof = `${field.protoName}_form`;
    const name = `${field.name}Json`;
    const description = `The same as JSON text.`;
    const asText = this.#field(message, field.member, { kind: 'JsonText' }, { name, oneof, description });
    return [{ ...field, oneof }, asText];
  }

  #branch(message: string, schema: JsonSchema): FieldPlan {
    const title = schema.title!;
    const member = title.slice(0, 1).toLowerCase() + title.slice(1);
    const of = this.messageOf(schema);
    return this.#field(message, member, { kind: 'Message', of }, { oneof: 'shape' });
  }

  #typeOf(schema: JsonSchema): { type: FieldType; isRepeated: boolean } {
    const branches = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
    if (branches.length === 1) return this.#typeOf(branches[0]!);
    const { items, title } = schema;
    if (items === undefined) return { type: this.#single(schema), isRepeated: false };
    if (title !== undefined) return { type: { kind: 'Message', of: this.#tuple(schema) }, isRepeated: false };
    return { type: this.#typeOf(items).type, isRepeated: true };
  }

  #single(schema: JsonSchema): FieldType {
    const { type, format, title, enum: words, additionalProperties } = schema;
    if (schema.properties || schema.oneOf || schema.anyOf) return message(this.messageOf(schema));
    if (title !== undefined && words?.every((word) => ENUM_WORD.test(word)))
      return { kind: 'Enum', of: this.#enum(title, words, schema.description ?? '') };
    if (type === 'integer') return scalar((schema.maximum ?? Infinity) <= INT32_MAX ? 'int32' : 'int64');
    if (type === 'number') return scalar('double');
    if (type === 'boolean') return scalar('bool');
    if (type === 'string') return scalar(format === 'byte' ? 'bytes' : 'string');
    if (type === undefined) return { kind: 'Value' };
    if (typeof additionalProperties !== 'object') return { kind: 'Struct' };
    const { type: of, isRepeated } = this.#typeOf(additionalProperties);
    return { kind: 'Map', of: isRepeated ? message(this.#list(of)) : of };
  }

  /** A map has no lists, so the list is a message. */
  #list(of: FieldType): MessagePlan {
    if (of.kind !== 'Scalar') throw new Error('only lists of simple values are in maps');
    const name = `${of.of.slice(0, 1).toUpperCase()}${of.of.slice(1)}List`;
    const fields = [this.#field(name, 'values', of, { isRepeated: true })];
    return this.add({ name, description: 'A list in a map.', form: 'List', fields });
  }

  #tuple({ title = '', description = '' }: JsonSchema): MessagePlan {
    const fields = TUPLES[title]?.map((name) => this.#field(title, name, scalar('string')));
    if (fields === undefined) throw new Error(`the items of ${title} have no names`);
    return this.add({ name: title, description, form: 'Tuple', fields });
  }

  #enum(name: string, words: readonly string[], description: string): EnumPlan {
    const known = this.enums.get(name);
    if (known !== undefined) return known;
    const numbered = words.map((word) => [word, this.numbers.numberOf(name, word, true)] as const);
    const plan = { name, description, words: new Map(numbered) };
    this.enums.set(name, plan);
    return plan;
  }
}

const scalar = (of: ScalarType): FieldType => ({ kind: 'Scalar', of });
const message = (of: MessagePlan): FieldType => ({ kind: 'Message', of });

const described = (schema: JsonSchema): JsonSchema =>
  schema['x-use'] === undefined ? schema : { ...schema, description: schema['x-use'] };

const isNullable = ({ anyOf = [] }: JsonSchema): boolean => anyOf.some(({ type }) => type === 'null');
