// The members of a body that nobody reads on the way in: those that the contract marks `x-kept-as-text`, of the body or of
// the items of a list in it.

import {
  asJson,
  type ErrorCode,
  type JsonSchema,
  type Operation,
  type OperationName,
} from '@tallystick/contract';

/** Which members are kept as text, and where the objects stand that have them. */
export interface TextMembers {
  /** Undefined: the body is such an object; else the items of this member of the body are. */
  readonly list: ListMember | undefined;
  readonly names: readonly string[];
  /** The same as the bytes of keys. */
  readonly keys: readonly Uint8Array[];
  /** How deep the outline of the body must reach. */
  readonly levels: number;
  /** What the contract names in the body, and in such an object. */
  readonly inBody: KnownMembers;
  readonly inObject: KnownMembers;
}

/** Members by name, each with those that are named inside it. */
export interface KnownMembers {
  readonly [name: string]: KnownMembers;
}

export interface ListMember {
  readonly name: string;
  readonly minItems: number;
  readonly maxItems: number;
  /** The code of an error about the number of its items. */
  readonly refusedAs: ErrorCode;
}

/** The members of such an object, and what these have inside: the judge looks there. */
const OBJECT_LEVELS = 2;
/** Around it, the members of the body and the items of the list. */
const LIST_LEVELS = 2 + OBJECT_LEVELS;

export function textMembersOf({ input, rest }: Operation<OperationName>): TextMembers | undefined {
  if (rest.body === undefined) return undefined;
  const body = asJson(input.properties[rest.body]!);
  const inBody = knownMembers(body);
  const own = namesIn(body);
  if (own.length > 0) {
    return { list: undefined, ...named(own), levels: OBJECT_LEVELS, inBody, inObject: inBody };
  }
  for (const [name, list] of Object.entries(body.properties ?? {})) {
    const names = list.items === undefined ? [] : namesIn(list.items);
    if (names.length === 0) continue;
    const inObject = knownMembers(list.items!);
    return { list: listMember(name, list), ...named(names), levels: LIST_LEVELS, inBody, inObject };
  }
  return undefined;
}

function named(names: readonly string[]): Pick<TextMembers, 'names' | 'keys'> {
  const encoder = new TextEncoder();
  return { names, keys: names.map((name) => encoder.encode(name)) };
}

function knownMembers({ properties = {} }: JsonSchema): KnownMembers {
  return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, knownMembers(inner)]));
}

function listMember(name: string, schema: JsonSchema): ListMember {
  const { minItems = 0, maxItems = Infinity, 'x-refused-as': refusedAs = 'VALIDATION_FAILED' } = schema;
  return { name, minItems, maxItems, refusedAs };
}

function namesIn({ properties = {} }: JsonSchema): string[] {
  return Object.entries(properties).flatMap(([name, member]) => (member['x-kept-as-text'] ? [name] : []));
}
