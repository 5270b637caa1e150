// All schemas at once: a strict validator accepts them, and every protocol can express them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATIONS, outputSchema, restBodySchema } from './operations.ts';
import { publicSchemas } from './reference/schemas-page.ts';
import { EXAMPLES } from './examples.ts';
import { ANNOTATIONS, asJson } from './schema.ts';
import type { JsonSchema } from './schema.ts';
import {
  branchOf,
  componentsOf,
  everySchema,
  forGateway,
  forVersion,
  ownTenantPaths,
} from './schema-walk.ts';
import { EXPECTED_OF_FORMAT, FORMATS } from './formats.ts';
import { NotificationHeaders } from './schemas/notification.ts';
import { faultsOf } from './testing.ts';

const inputs = OPERATIONS.map(({ input }) => input);
const outputs = OPERATIONS.flatMap((each) => [outputSchema(each) ?? [], restBodySchema(each) ?? []].flat());
const roots = [...inputs, ...outputs, ...publicSchemas()];
const everyOne = roots.flatMap((root) =>
  [...everySchema(asJson(root))].map(([path, schema]) => ({ path, schema })),
);

// Keywords that OpenAPI 3.0 has under the same name and meaning, or that a mechanical translation reaches.
const OPENAPI_KEYWORDS = new Set(
  `title description type format pattern enum default readOnly writeOnly
   minimum maximum minLength maxLength minItems maxItems maxProperties
   items properties required additionalProperties anyOf oneOf discriminator`.split(/\s+/),
);
const TRANSLATED_KEYWORDS = new Set(['const', ...Object.keys(ANNOTATIONS)]);

test('every schema compiles in strict mode', () => {
  for (const schema of roots) assert.ok(Array.isArray(faultsOf(schema, {})), asJson(schema).title);
});

test('no schema uses a keyword that OpenAPI 3.0 lacks and no translation reaches', () => {
  for (const { path, schema } of everyOne) {
    for (const keyword of Object.keys(schema)) {
      assert.ok(OPENAPI_KEYWORDS.has(keyword) || TRANSLATED_KEYWORDS.has(keyword), `${path}: ${keyword}`);
    }
  }
});

test('null occurs only as one of two branches, which OpenAPI 3.0 says as nullable', () => {
  for (const { path, schema } of everyOne) {
    const nulls = (schema.anyOf ?? []).filter((branch) => branch.type === 'null');
    if (nulls.length > 0) assert.equal(schema.anyOf?.length, 2, path);
    for (const branch of schema.oneOf ?? []) assert.notEqual(branch.type, 'null', path);
    if (schema.type === 'null') assert.match(path, /\/\|$/, path);
  }
});

test('a list of several shapes has a title on each, as unions of GraphQL and protobuf need', () => {
  for (const { path, schema } of everyOne) {
    const branches = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].filter(
      (branch) => branch.type !== 'null',
    );
    if (branches.length < 2) continue;
    assert.ok(schema.title, path);
    for (const branch of branches) assert.ok(branch.type === 'object' && branch.title, path);
  }
});

test('an object with members of its own, and a list inside a list, has a title', () => {
  for (const { path, schema } of everyOne) {
    if (schema.properties) assert.ok(schema.title, `${path} needs a name`);
    if (schema.items?.type === 'array') assert.ok(schema.items.title, `${path} needs a name for its items`);
  }
});

test('components have unique PascalCase names: one title, one shape', () => {
  const shapes = new Map<string, string>();
  for (const { schema } of everyOne) {
    if (schema.title === undefined) continue;
    assert.match(schema.title, /^[A-Z][A-Za-z0-9]*$/);
    const shape = shapeOf(schema);
    assert.equal(shapes.get(schema.title) ?? shape, shape, `${schema.title} has two shapes`);
    shapes.set(schema.title, shape);
  }
  const lower = [...shapes.keys()].map((title) => title.toLowerCase());
  assert.equal(new Set(lower).size, lower.length, 'names differ by more than case');
});

/** What a component is, apart from what is said about one use of it. */
function shapeOf(schema: JsonSchema): string {
  const aboutOneUse = new Set(['description', 'default', ...Object.keys(ANNOTATIONS)]);
  return JSON.stringify(Object.entries(schema).filter(([keyword]) => !aboutOneUse.has(keyword)));
}

test('a component is described as what it is, wherever it is used', () => {
  const descriptions = new Map<string, string | undefined>();
  for (const { path, schema } of everyOne) {
    if (schema['x-use'] !== undefined) assert.ok(schema.title, `${path} has no description of its own`);
    if (schema.title === undefined) continue;
    const first = descriptions.get(schema.title) ?? schema.description;
    assert.equal(schema.description, first, `${path}: ${schema.title} has two descriptions`);
    descriptions.set(schema.title, first);
  }
});

test('members that travel in other protocols are camelCase names', () => {
  const isHeaders = (schema: JsonSchema) => schema.title === asJson(NotificationHeaders).title;
  for (const { path, schema } of everyOne.filter((each) => !isHeaders(each.schema))) {
    for (const name of Object.keys(schema.properties ?? {})) assert.match(name, /^[a-z][A-Za-z0-9]*$/, path);
  }
});

test('every format that is named has a function', () => {
  for (const { path, schema } of everyOne) {
    if (schema.format !== undefined) assert.ok(schema.format in FORMATS, `${path}: ${schema.format}`);
  }
});

test('every pattern and format that a caller can break is put in words, with an example that obeys it', () => {
  const examples = new Set<string>();
  for (const input of inputs) {
    for (const [path, schema] of everySchema(asJson(input))) {
      const { format = '', pattern } = schema;
      const words = schema['x-expected'] ?? EXPECTED_OF_FORMAT[format];
      const acceptsAll = format === '' || ['password', 'byte'].includes(format);
      if (pattern !== undefined || !acceptsAll) assert.ok(words, `${asJson(input).title}${path}`);
      const example = / like (\S+?)(?=[,;]? |[,;]?$)/.exec(words ?? '')?.[1];
      if (example === undefined) continue;
      assert.deepEqual(faultsOf(schema, example), [], `${path}: ${example}`);
      examples.add(example);
    }
  }
  assert.ok(examples.size >= 9, `only ${[...examples].join(' ')}`);
});

test('every object that callers send refuses members that it does not know', () => {
  for (const input of inputs) {
    for (const [path, schema] of everySchema(asJson(input))) {
      if (schema.properties)
        assert.equal(schema.additionalProperties, false, `${asJson(input).title}${path}`);
    }
  }
});

test('every required member is a member', () => {
  for (const { path, schema } of everyOne) {
    const members = schema.properties ?? {};
    for (const name of schema.required ?? []) assert.ok(name in members, `${path}: ${name}`);
  }
});

test('a value by default obeys its own schema', () => {
  for (const { path, schema } of everyOne) {
    if (schema.default !== undefined) assert.deepEqual(faultsOf(schema, schema.default), [], path);
  }
});

test('the gateway leaves events of a batch to the operation, but not the batch', () => {
  const input = asJson(OPERATIONS.find(({ name }) => name === 'events.ingestBatch')!.input);
  const gateway = forGateway(input);
  assert.deepEqual(faultsOf(gateway, { batch: { events: [{ nonsense: true }] } }), []);
  assert.deepEqual(faultsOf(gateway, { batch: { events: [] } }), ['/batch/events minItems']);
  assert.notDeepEqual(faultsOf(input, { batch: { events: [{ nonsense: true }] } }), []);
});

test('the places where the tenant may be repeated are known, but for those left to the operation', () => {
  const places = inputs.flatMap((input) =>
    ownTenantPaths(asJson(input)).map((path) => `${asJson(input).title} ${path.join('.')}`),
  );
  assert.deepEqual(places, [
    'EventsIngestInput event.tenantId',
    'EventsListInput tenantId',
    'ErasuresCreateInput erasure.tenantId',
    'ExportsListInput tenantId',
    'ProjectionsRebuildInput rebuild.tenantId',
  ]);
});

test('a mark that is limited to keywords names keywords of its own schema', () => {
  const limited = everyOne.filter(({ schema }) => schema['x-refused-for'] !== undefined);
  assert.ok(limited.length > 0);
  for (const { path, schema } of limited) {
    assert.ok(schema['x-refused-as'], path);
    for (const keyword of schema['x-refused-for'] ?? []) assert.ok(keyword in schema, `${path}: ${keyword}`);
  }
});

test('a version loses the members that came later, and their place among the required ones', () => {
  const schema: JsonSchema = {
    type: 'object',
    required: ['a', 'b'],
    properties: { a: { type: 'string' }, b: { type: 'string', 'x-added-in': 'v2' } },
  };
  assert.deepEqual(forVersion('v1', schema), {
    type: 'object',
    required: ['a'],
    properties: { a: { type: 'string' } },
  });
  assert.deepEqual(forVersion('v2', schema).required, ['a', 'b']);
  assert.equal(JSON.stringify(forVersion('v2', schema)).includes('x-added-in'), false);
});

test('components are found by their titles', () => {
  const components = componentsOf(roots);
  for (const title of [
    'AuditEvent',
    'Actor',
    'Classification',
    'Policy',
    'ErrorBody',
    'Notification',
    'AuditEventList',
  ]) {
    assert.ok(components.has(title), title);
  }
});

test('what has the required members of one shape of a union is found to be that shape', () => {
  const unions = [...componentsOf(roots).values()].filter(
    ({ anyOf, oneOf }) => (anyOf ?? oneOf ?? []).filter(({ type }) => type !== 'null').length > 1,
  );
  const titles = unions.map(({ title }) => title);
  for (const title of ['StoredEvent', 'StreamEvent', 'RedactionAnswer', 'ErasureAnswer', 'Confirmation'])
    assert.ok(titles.includes(title), title);
  for (const union of unions) {
    for (const branch of union.oneOf ?? union.anyOf ?? []) {
      const members = (branch.required ?? []).map((name) => [name, branch.properties?.[name]?.const ?? 'x']);
      const example = EXAMPLES[branch.title!] as object | undefined;
      for (const value of [
        Object.fromEntries(members) as object,
        ...(example === undefined ? [] : [example]),
      ])
        assert.equal(branchOf(union, value)?.title, branch.title, union.title);
    }
    assert.equal(branchOf(union, { neither: 1 }), undefined, union.title);
  }
  const streamEvent = unions.find(({ title }) => title === 'StreamEvent')!;
  assert.equal(branchOf(streamEvent, EXAMPLES['StreamEvent'] as object)?.title, 'WithheldEvent');
});
