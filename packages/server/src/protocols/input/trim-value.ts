// Removes the parts of a value that validation refuses without looking at them: the inside of a container that should be
// none or has an unknown name, items past the end of a list, and unknown members beyond the number that an error lists.
// The rest gets the same verdict as the whole, and no thread is kept busy with copying the removed parts.

import { type JsonSchema, LIMITS } from '@tallystick/contract';

/** `schema` is what the value should be. */
export function trimValue(value: unknown, schema: JsonSchema): unknown {
  return trim(value, branchesOf(schema), { unknown: LIMITS.errorDetailsMax });
}

/** How many more members are left that the contract does not know. */
interface Left {
  unknown: number;
}

/** The schemas that the value may be compared with. */
type Branches = readonly JsonSchema[];

function branchesOf(schema: JsonSchema): Branches {
  const branches = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return branches.length === 0 ? [schema] : branches.flatMap(branchesOf);
}

function trim(value: unknown, branches: Branches, left: Left): unknown {
  if (typeof value !== 'object' || value === null || branches.some(isFree)) return value;
  if (Array.isArray(value)) return trimList(value, branches, left);
  const objects = branches.filter(({ type }) => type === 'object');
  if (objects.length === 0) return {};
  // Unknown members of an object are listed before those inside its members.
  const members = Object.entries(value)
    .map(([name, member]: [string, unknown]) => ({ name, member, inside: insideOf(objects, name) }))
    .filter(({ inside }) => inside.length > 0 || left.unknown-- > 0);
  return Object.fromEntries(members.map(({ name, member, inside }) => [name, trim(member, inside, left)]));
}

/** Whether anything may stand inside. */
function isFree({ type, properties, additionalProperties }: JsonSchema): boolean {
  return (
    type === undefined || (type === 'object' && properties === undefined && additionalProperties === true)
  );
}

function trimList(items: readonly unknown[], branches: Branches, left: Left): unknown[] {
  const lists = branches.filter(({ type }) => type === 'array');
  if (lists.length === 0) return [];
  const inside = lists.flatMap((list) => branchesOf(list.items ?? {}));
  const maxItems = Math.max(...lists.map((list) => list.maxItems ?? Infinity));
  return items.map((item, index) => (index < maxItems ? trim(item, inside, left) : 0));
}

/** None where the contract does not know the member. */
function insideOf(objects: Branches, name: string): Branches {
  return objects.flatMap(({ properties = {}, additionalProperties = true }) => {
    if (Object.hasOwn(properties, name)) return branchesOf(properties[name]!);
    if (additionalProperties === false) return [];
    return additionalProperties === true ? [{}] : branchesOf(additionalProperties);
  });
}
