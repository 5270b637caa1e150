// A schema of the contract as JSON Schema 2020-12, for a model to read: marks become words, and members that carry a secret
// or open a file without a credential are left out.

import type { JsonSchema } from '../schema.ts';

/** What must not stand in a transcript: a signed link, a secret, a map of secrets. */
export function isLeftOut(schema: JsonSchema): boolean {
  const { additionalProperties: values } = schema;
  if (typeof values === 'object' && isLeftOut(values)) return true;
  return schema.format === 'password' || (schema['x-guarded'] === true && schema.format === 'uri');
}

const WORDS = ['description', 'x-use', 'x-expected'] as const;
const KEPT = [
  'type',
  'format',
  'pattern',
  'enum',
  'const',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'default',
] as const;

export function plainSchema(schema: JsonSchema): JsonSchema {
  const [description, use, expected] = WORDS.map((word) => schema[word]);
  const words = [description, use, expected === undefined ? undefined : `Must be ${expected}.`].filter(
    (word) => word !== undefined,
  );
  const { properties, required, items, additionalProperties, anyOf, oneOf } = schema;
  const shown = Object.entries(properties ?? {}).filter(([, member]) => !isLeftOut(member));
  return {
    ...Object.fromEntries(KEPT.flatMap((key) => (schema[key] === undefined ? [] : [[key, schema[key]]]))),
    ...(words.length > 0 && { description: words.join(' ') }),
    ...(properties && {
      properties: Object.fromEntries(shown.map(([name, member]) => [name, plainSchema(member)])),
    }),
    ...(required && { required: required.filter((name) => shown.some(([there]) => there === name)) }),
    ...(items && { items: plainSchema(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'object' ? plainSchema(additionalProperties) : additionalProperties,
    }),
    ...(anyOf && { anyOf: anyOf.map(plainSchema) }),
    // One branch has the tag of a value, so the others do not fit it.
    ...(oneOf && { anyOf: oneOf.map(plainSchema) }),
  };
}

/** Where members are left out of an answer: the steps that lead there, `[]` for each item of a list. */
export function leftOutPaths(schema: JsonSchema): string[][] {
  const below = (steps: readonly string[], inner: JsonSchema) =>
    leftOutPaths(inner).map((path) => [...steps, ...path]);
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
      isLeftOut(member) ? [[name]] : below([name], member),
    ),
    ...(schema.items ? below(['[]'], schema.items) : []),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((branch) => below([], branch)),
  ];
}
