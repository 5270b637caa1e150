// The OpenAPI documents: valid, whole, and true to the schemas that validate requests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import { ERROR_CODES, PROTOCOL_ERRORS, ROUTING_ERRORS } from './errors.ts';
import { openApiOf } from './openapi.ts';
import { answersOf, errorsOf, OPERATIONS, operationsIn } from './operations.ts';
import { REST_STATUS_OF_ANSWER, REST_STATUS_OF_ERROR } from './rest-status.ts';
import { VERSIONS } from './schema.ts';

interface Part {
  readonly [name: string]: Part;
}

const operations = new Set(OPERATIONS.map(({ name }) => name));
const documents = VERSIONS.map((version) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- read as it would be by a program that gets it
  const document = JSON.parse(JSON.stringify(openApiOf(version, { operations, build: '0.1.0' }))) as Part;
  return { version, document };
});

/** A text of the document; as long as a test reads the right place. */
const textOf = (part: unknown): string => (typeof part === 'string' ? part : JSON.stringify(part));

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

function* operationsOf(document: Part): Generator<[path: string, method: string, operation: Part]> {
  for (const [path, item] of Object.entries(document['paths']!)) {
    for (const method of METHODS) if (item[method]) yield [path, method, item[method]];
  }
}

function* everyPart(part: unknown, at = ''): Generator<[at: string, part: Part]> {
  if (typeof part !== 'object' || part === null) return;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an object of JSON
  yield [at, part as Part];
  for (const [name, inner] of Object.entries(part)) yield* everyPart(inner, `${at}/${name}`);
}

const referenceOf = ({ $ref }: Part): string | undefined => (typeof $ref === 'string' ? $ref : undefined);

const lookUp = (document: Part, reference: string): Part | undefined =>
  reference
    .slice('#/'.length)
    .split('/')
    .reduce<Part | undefined>((part, name) => part?.[name], document);

for (const { version, document } of documents) {
  test(`${version} is OpenAPI 3.0`, async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    assert.equal(valid, true, JSON.stringify(errors));
    assert.equal(document['openapi'], '3.0.3');
    assert.match(textOf(document['info']!['version']), new RegExp(`^${version.slice(1)}\\.`));
  });

  test(`${version} has every operation of its version once, under a name of its own`, () => {
    const found = [...operationsOf(document)];
    assert.equal(found.length, operationsIn(version).length);
    const ids = found.map(([, , { operationId }]) => textOf(operationId));
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[a-z][A-Za-z]+$/);
  });

  test(`${version} refers to what is there, and has nothing that is never referred to`, () => {
    const references = new Set<string>();
    for (const [at, part] of everyPart(document)) {
      const $ref = referenceOf(part);
      if ($ref === undefined) continue;
      references.add($ref);
      assert.ok(lookUp(document, $ref), `${at} refers to ${$ref}`);
    }
    for (const kind of ['schemas', 'responses', 'parameters']) {
      for (const name of Object.keys(document['components']![kind]!))
        assert.ok(references.has(`#/components/${kind}/${name}`), `${kind} ${name}`);
    }
  });

  test(`${version} has no word that only the contract knows`, () => {
    const words = ['const', 'title', 'x-use', 'x-expected', 'x-refused-as', 'x-added-in', '~optional'];
    for (const [at, part] of everyPart(document['components']!['schemas'])) {
      if (/\/(properties|example)(\/|$)/.test(at.replace(/\/properties\/[^/]+$/, ''))) continue;
      for (const word of words)
        assert.ok(!Object.hasOwn(part, word) || at.endsWith('/properties'), `${at}/${word}`);
      assert.notEqual(part['type'], 'null', at);
    }
  });

  test(`${version} names every status of every operation, with each error and its meaning`, () => {
    for (const each of operationsIn(version)) {
      const path = `${each.rest.atRoot ? '' : `/api/${version}`}${each.rest.path.replaceAll('+}', '}')}`;
      const responses = document['paths']![path]![each.rest.method.toLowerCase()]!['responses']!;
      const routing = each.rest.atRoot ? [] : ROUTING_ERRORS.filter((code) => code !== 'ROUTE_NOT_FOUND');
      const codes = [...errorsOf(each), ...routing];
      const statuses = [
        ...answersOf(each).map(([kind]) => REST_STATUS_OF_ANSWER[kind]),
        ...codes.map((code) => REST_STATUS_OF_ERROR[code]),
      ];
      assert.deepEqual(
        Object.keys(responses),
        [...new Set(statuses)].sort((a, b) => a - b).map(String),
        each.name,
      );
      for (const code of codes) {
        const response = responses[REST_STATUS_OF_ERROR[code]]!;
        const $ref = referenceOf(response);
        const whole = $ref === undefined ? response : lookUp(document, $ref)!;
        assert.ok(textOf(whole['description']).includes(`\`${code}\`: `), `${each.name} ${code}`);
      }
    }
  });

  test(`${version}: what the contract gives as an example is accepted by the schema of the document`, () => {
    // As OpenAPI reads `nullable`; `discriminator` only helps to choose among `oneOf`.
    const ajv = new Ajv({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'document', components: asJsonSchema(document['components']) });
    let count = 0;
    for (const [title, schema] of Object.entries(document['components']!['schemas']!)) {
      if (!('example' in schema)) continue;
      const validate = ajv.getSchema(`document#/components/schemas/${title}`);
      assert.ok(validate?.(schema['example']), `${title}: ${JSON.stringify(validate?.errors)}`);
      count += 1;
    }
    assert.ok(count > 20, `${count} examples`);
  });
}

/** OpenAPI 3.0's `nullable` in the words of JSON Schema. */
function asJsonSchema(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(asJsonSchema);
  if (typeof part !== 'object' || part === null) return part;
  const mapped = Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, asJsonSchema(inner)]));
  if (mapped['nullable'] !== true) return mapped;
  const { nullable: _, ...rest } = mapped;
  return { anyOf: [rest, { type: 'null' }] };
}

test('the second version has what came with it, and the first has not', () => {
  const [one, two] = documents.map(({ document }) => JSON.stringify(document));
  assert.ok(two!.includes('includeRelatedEntities'));
  assert.ok(!one!.includes('includeRelatedEntities'));
});

test('operations that are not served are not described', () => {
  const few = openApiOf('v1', { operations: new Set(['events.ingest']), build: '0.1.0' });
  assert.deepEqual(Object.keys(few['paths'] as object), ['/api/v1/audit-events']);
});

test('no code of the catalogue is missing from both documents', () => {
  const all = documents.map(({ document }) => JSON.stringify(document)).join('');
  const missing = ERROR_CODES.filter((code) => !all.includes(`\`${code}\``));
  // One answers paths that are in no document, the other is not of REST.
  assert.deepEqual(missing, [...PROTOCOL_ERRORS, 'ROUTE_NOT_FOUND']);
});
