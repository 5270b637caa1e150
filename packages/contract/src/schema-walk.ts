// Reading schemas as data: what is inside one, which components a set of them uses, and how one looks to an
// older version or to the gateway. OpenAPI, GraphQL, protobuf and the reference pages are made with these.

import type { TSchema } from 'typebox';
import { asJson, VERSIONS } from './schema.ts';
import type { JsonSchema, Version } from './schema.ts';

/** The schemas directly inside this one, each with the step that leads there. */
export function subschemas(schema: JsonSchema): [step: string, JsonSchema][] {
  const inside = Object.entries(schema.properties ?? {});
  if (schema.items) inside.push(['[]', schema.items]);
  if (typeof schema.additionalProperties === 'object') inside.push(['*', schema.additionalProperties]);
  for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) inside.push(['|', branch]);
  return inside;
}

/** This schema and all inside it, parents first. */
export function* everySchema(schema: JsonSchema, path = ''): Generator<[path: string, JsonSchema]> {
  yield [path, schema];
  for (const [step, inner] of subschemas(schema)) yield* everySchema(inner, `${path}/${step}`);
}

/** Whether something inside has a value that must not be guessed from the length of an answer. */
export function holdsGuarded(schema: JsonSchema): boolean {
  return [...everySchema(schema)].some(([, inner]) => inner['x-guarded'] === true);
}

/** The components among these schemas by title; where one occurs often, its first occurrence. */
export function componentsOf(schemas: Iterable<TSchema>): Map<string, JsonSchema> {
  const components = new Map<string, JsonSchema>();
  for (const schema of schemas) {
    for (const [, inner] of everySchema(asJson(schema))) {
      if (inner.title !== undefined && !components.has(inner.title)) components.set(inner.title, inner);
    }
  }
  return components;
}

/**
 * Which shape of a union a value has: by the tag, or the first whose required members are all there, those with most
 * of them first. Undefined where it is none of them.
 */
export function branchOf(union: JsonSchema, value: object): JsonSchema | undefined {
  const branches = union.oneOf ?? union.anyOf ?? [];
  const isTagged = (branch: JsonSchema, tag: string) =>
    branch.properties?.[tag]?.const === Object.entries(value).find(([name]) => name === tag)?.[1];
  const tag = union.discriminator?.propertyName;
  if (tag !== undefined) return branches.find((branch) => isTagged(branch, tag));
  const requiredOf = ({ required = [] }: JsonSchema) => required;
  return branches
    .toSorted((one, other) => requiredOf(other).length - requiredOf(one).length)
    .find((branch) => requiredOf(branch).every((name) => Object.hasOwn(value, name)));
}

/** Whether something that was added in a version (or was there from the start) is in this one. */
export function isIn(version: Version, addedIn: Version | undefined): boolean {
  return addedIn === undefined || VERSIONS.indexOf(addedIn) <= VERSIONS.indexOf(version);
}

/** A copy of the schema in which every schema directly inside it is replaced. */
function mapInside(schema: JsonSchema, replace: (inner: JsonSchema) => JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, anyOf, oneOf } = schema;
  const mapped = (members: object) => Object.entries(members).map(([name, inner]) => [name, replace(inner)]);
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(mapped(properties)) }),
    ...(items && { items: replace(items) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: replace(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(replace) }),
    ...(oneOf && { oneOf: oneOf.map(replace) }),
  };
}

/** The schema as this version has it: without the members that came later. Most schemas are the same in all versions. */
export function forVersion(version: Version, schema: JsonSchema): JsonSchema {
  if (!differsByVersion(schema)) return schema;
  const isThere = ([, member]: [string, JsonSchema]) => isIn(version, member['x-added-in']);
  const { 'x-added-in': _, properties, required, ...others } = schema;
  const members = properties && Object.fromEntries(Object.entries(properties).filter(isThere));
  const there: JsonSchema = {
    ...others,
    ...(members && { properties: members }),
    ...(required && { required: required.filter((name) => members === undefined || name in members) }),
  };
  return mapInside(there, (inner) => forVersion(version, inner));
}

function differsByVersion(schema: JsonSchema): boolean {
  if (schema['x-added-in'] !== undefined) return true;
  return subschemas(schema).some(([, inner]) => differsByVersion(inner));
}

/**
 * The members that must name the tenant of the call, each as the steps that lead there. The gateway compares them
 * before it validates; what is left to the operation is compared there, too.
 */
export function ownTenantPaths(schema: JsonSchema): string[][] {
  if (schema['x-left-to-operation']) return [];
  if (schema['x-must-be-tenant']) return [[]];
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    ownTenantPaths(member).map((steps) => [name, ...steps]),
  );
}

/** The schema as the gateway validates it: what is left to the operation may be anything. */
export function forGateway(schema: JsonSchema): JsonSchema {
  return schema['x-left-to-operation'] ? {} : mapInside(schema, forGateway);
}
