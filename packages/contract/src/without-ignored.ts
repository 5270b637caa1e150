// Removes the members of a request that have no effect, in one place, before validation: `null` in an
// optional member (it means absent) and read-only members of a record that is sent back. Schemas and types
// therefore never mention those nulls. A null is kept where it has a meaning: in a required member (the validator
// refuses it there), where the schema itself allows it (merge patches), and inside free objects and maps, such
// as `context`, `payload` and conditions, which belong to the caller.

import type { TSchema } from 'typebox';
import { asJson } from './schema.ts';
import type { JsonSchema } from './schema.ts';

/** The value without what is ignored. The given value is not changed; parts with nothing to drop are shared. */
export function withoutIgnored(schema: TSchema, value: unknown): unknown {
  return strip(asJson(schema), value);
}

function strip(schema: JsonSchema, value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  const { items, maxItems = Infinity, properties, required } = branchFor(schema, value);
  // A list that is too long is refused for that, without a look at its items.
  if (Array.isArray(value)) return items && value.length <= maxItems ? stripItems(items, value) : value;
  return properties ? stripMembers(properties, required ?? [], value as Record<string, unknown>) : value;
}

function stripItems(items: JsonSchema, value: readonly unknown[]): readonly unknown[] {
  const stripped = value.map((item) => strip(items, item));
  return stripped.every((item, index) => item === value[index]) ? value : stripped;
}

/** Goes through the members that the schema names: a value may have any number of others. */
function stripMembers(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  value: Readonly<Record<string, unknown>>,
) {
  let kept: Record<string, unknown> | undefined;
  for (const [name, schema] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const member = value[name];
    const isEmpty = member === null && !required.includes(name);
    const isIgnored = schema.readOnly === true || (isEmpty && !takesNull(schema));
    const inner = isIgnored ? undefined : strip(schema, member);
    if (inner === member) continue;
    // A spread copies own members, so that one called __proto__ stays an ordinary one.
    kept ??= { ...value };
    if (isIgnored) delete kept[name];
    else kept[name] = inner;
  }
  return kept ?? value;
}

const takesNull = (schema: JsonSchema): boolean =>
  schema.type === 'null' || (schema.anyOf ?? []).some((branch) => takesNull(branch));

/** In a union told apart by a tag, the branch that the value names; in a nullable one, the other branch. */
function branchFor(schema: JsonSchema, value: object): JsonSchema {
  const tag = schema.discriminator?.propertyName;
  if (tag !== undefined) {
    const named: unknown = Object.entries(value).find(([name]) => name === tag)?.[1];
    return (schema.oneOf ?? []).find((branch) => branch.properties?.[tag]?.const === named) ?? schema;
  }
  const others = (schema.anyOf ?? []).filter((branch) => branch.type !== 'null');
  return others.length === 1 && others[0] ? branchFor(others[0], value) : schema;
}
