// A sound input of each operation, made from its schema: the members that are required, and of bodies the examples of the
// contract. For tests that ask everything and want nothing.

import {
  asJson,
  EXAMPLES,
  type JsonSchema,
  type Operation,
  type OperationName,
  ULID_PATTERN,
} from '@tallystick/contract';

const BY_FORMAT: Readonly<Record<string, string>> = {
  ulid: '01KE0000000000000000000042',
  uuid: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  'date-time': '2026-01-02T03:04:05.678Z',
  duration: 'P1D',
};
/** What a pattern alone does not give. */
const BY_NAME: Readonly<Record<string, string | number>> = {
  tenantId: 'acme',
  version: '1',
  level: '0',
  tile: '000',
  size: '1',
};

export function sampleInput({ input }: Operation<OperationName>): Record<string, unknown> {
  return sampleObject(asJson(input));
}

function sampleObject({ required = [], properties = {} }: JsonSchema): Record<string, unknown> {
  return Object.fromEntries(required.map((name) => [name, sample(properties[name]!, name)]));
}

function sample(schema: JsonSchema, name: string): unknown {
  const { title = '', type, format = '', minItems = 0, items = {} } = schema;
  const known = EXAMPLES[title] ?? BY_FORMAT[format] ?? schema.const ?? schema.enum?.[0];
  if (known !== undefined) return known;
  if (schema.pattern === ULID_PATTERN) return BY_FORMAT['ulid'];
  const [branch] = schema.oneOf ?? schema.anyOf ?? [];
  if (branch !== undefined) return sample(branch, name);
  if (type === 'object') return sampleObject(schema);
  if (type === 'array') return Array.from({ length: minItems }, () => sample(items, name));
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  return BY_NAME[name] ?? 'sample';
}
