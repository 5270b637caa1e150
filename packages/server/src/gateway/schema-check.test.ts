// What the check accepts is what JSON Schema accepts: an independent validator agrees on thousands of values. And it
// stops: at the limit of faults, and before the items of a list that is too long.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import {
  ANNOTATIONS,
  asJson,
  FORMATS,
  forGateway,
  type JsonSchema,
  LIMITS,
  OPERATIONS,
  subschemas,
} from '@tallystick/contract';
import * as fc from 'fast-check';
import { createSchemaCheck } from './schema-check.ts';

const ajv = new Ajv({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  discriminator: true,
  formats: FORMATS,
});
ajv.addVocabulary(Object.keys(ANNOTATIONS));

/** Values near what the schema asks for: often sound, mostly wrong in one place or two. */
function near(schema: JsonSchema, levels = 6): fc.Arbitrary<unknown> {
  const wrong = fc.jsonValue({ maxDepth: 1 });
  const sound = levels === 0 ? wrong : soundOr(schema, wrong, levels);
  return fc.oneof({ weight: 15, arbitrary: sound }, { weight: 1, arbitrary: wrong });
}

const WORDS = [
  '',
  'x',
  'Delete.Invoice',
  '2026-01-02T03:04:05.678Z',
  'P7Y',
  'https://a.example',
  '-timestamp',
];

function soundOr(schema: JsonSchema, wrong: fc.Arbitrary<unknown>, levels: number): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom<unknown>(...schema.enum, 'x');
  const branches = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (branches.length > 0) return fc.oneof(...branches.map((branch) => near(branch, levels)));
  switch (schema.type) {
    case 'object': {
      const members = Object.entries(schema.properties ?? {}).map(
        ([name, member]) => [name, near(member, levels - 1)] as const,
      );
      const known = fc.record(Object.fromEntries(members), { requiredKeys: [...(schema.required ?? [])] });
      const other = schema.additionalProperties;
      const more = typeof other === 'object' ? near(other, levels - 1) : wrong;
      const extra = fc.dictionary(fc.constantFrom('x', 'y z', '__proto__', 'toString'), more, { maxKeys: 1 });
      return fc
        .tuple(known, fc.oneof({ weight: 6, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: extra }))
        .map(([one, two]) => ({ ...one, ...two }));
    }
    case 'array':
      return fc.array(near(schema.items ?? {}, levels - 1), { maxLength: 3 });
    case 'string':
      return fc.oneof(
        fc.constantFrom(...WORDS, '01KE0000000000000000000042', '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11', '*'),
        fc.string({ unit: 'binary', maxLength: 5 }),
        fc.nat(1100).map((length) => '😀'.repeat(length)),
      );
    case 'integer':
    case 'number':
      return fc.oneof(fc.integer({ min: -2, max: 2000 }), fc.double({ noNaN: true }));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case undefined:
    default:
      return wrong;
  }
}

test('agrees with an independent validator about every operation', () => {
  let [sound, unsound] = [0, 0];
  for (const { name, input } of OPERATIONS) {
    const schema = forGateway(asJson(input));
    if (subschemas(schema).length === 0) continue;
    const accepts = ajv.compile(schema);
    const check = createSchemaCheck(schema, { fillsDefaults: false });
    fc.assert(
      fc.property(near(schema), (value) => {
        const isSound = accepts(value);
        if (isSound) sound += 1;
        else unsound += 1;
        assert.equal(check(value).length === 0, isSound, `${name}: ${JSON.stringify(value)}`);
      }),
      { numRuns: 60, seed: 20261117 },
    );
  }
  assert.ok(sound > 200 && unsound > 1000, `${sound} sound, ${unsound} unsound`);
});

const STRICT: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    words: { type: 'array', maxItems: 100, items: { type: 'string' } },
    all: { type: 'array', items: { type: 'string' } },
    map: { type: 'object', maxProperties: 5, additionalProperties: { type: 'string' } },
  },
};

const faultsOf = createSchemaCheck(STRICT, { fillsDefaults: false });

test('a list or map is counted before anything in it is looked at', () => {
  const words = Array.from({ length: 101 }, (_, index) => index);
  const map = Object.fromEntries(words.map((index) => [`k${index}`, index]));
  assert.deepEqual(
    faultsOf({ words, map }).map(({ keyword }) => keyword),
    ['maxItems', 'maxProperties'],
  );
});

test('the check stops where an error stops listing', () => {
  let read = 0;
  const item = (index: number) => ({ enumerable: true, get: () => ((read += 1), index) });
  const length = 3 * LIMITS.errorDetailsMax;
  const all = Object.defineProperties(
    [],
    Object.fromEntries(Array.from({ length }, (_, index) => [index, item(index)])),
  );
  assert.equal(faultsOf({ all }).length, LIMITS.errorDetailsMax);
  assert.equal(read, LIMITS.errorDetailsMax, 'nothing behind the last fault is looked at');
  const unknown = Object.fromEntries(Array.from({ length }, (_, index) => [`k${index}`, 0]));
  assert.equal(faultsOf(unknown).length, LIMITS.errorDetailsMax);
  assert.equal(faultsOf(unknown, 7).length, 7);
});
