import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asJson, LIMITS, operationNamed, OPERATIONS } from '@tallystick/contract';
import * as fc from 'fast-check';
import { runs } from '../../../../evidence/src/testing/size.ts';
import { createRules } from '../../gateway/validate.ts';
import { trimValue } from './trim-value.ts';

const SEARCH = asJson(operationNamed('events.search').input.properties['search']);
const crowd = (count: number, member: unknown = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, member]));

test('of thousands of unknown members as many are left as an error lists, and every known one', () => {
  const search = { ...crowd(700), filters: { ...crowd(40_000), actions: ['x'] }, query: 'y' };
  const { query, filters, ...others } = trimValue(search, SEARCH) as typeof search;
  assert.equal(query, 'y');
  assert.deepEqual(filters.actions, ['x']);
  assert.equal(Object.keys(others).length, 700);
  assert.equal(Object.keys(filters).length, LIMITS.errorDetailsMax - 700 + 1);
});

test('nothing is left inside of what nobody looks into', () => {
  const search = { x: crowd(3), query: crowd(3), sort: { a: 1 }, filters: [[1]], pagination: { limit: [1] } };
  assert.deepEqual(trimValue(search, SEARCH), {
    x: {},
    query: {},
    sort: {},
    filters: [],
    pagination: { limit: [] },
  });
});

test('of a list that is too long its length is left, and the items that may stand there', () => {
  const { sort } = trimValue({ sort: Array.from({ length: 50_000 }, () => ({ field: 'x' })) }, SEARCH) as {
    sort: unknown[];
  };
  assert.equal(sort.length, 50_000);
  assert.deepEqual([sort[0], sort.at(-1)], [{ field: 'x' }, 0]);
});

test('what belongs to the caller is left as it is', () => {
  assert.deepEqual(trimValue({ a: [{ b: 1 }] }, { type: 'object', additionalProperties: true }), {
    a: [{ b: 1 }],
  });
  const map = { type: 'object', additionalProperties: { type: 'string' } } as const;
  assert.deepEqual(trimValue({ a: 'x', b: { c: 1 } }, map), { a: 'x', b: {} });
});

test('the rules of an operation say the same of a body and of its trimmed form', () => {
  const bodies = OPERATIONS.flatMap(({ input, rest }) =>
    rest.body === undefined ? [] : [asJson(input.properties[rest.body]!)],
  );
  assert.ok(bodies.length > 5);
  const names = [...new Set(bodies.flatMap(({ properties = {} }) => Object.keys(properties)))];
  const inner = ['field', 'order', 'from', 'to', 'limit', 'type', 'actions', 'timeRange', 'x', '__proto__'];
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'medium' },
      fc.constantFrom('x', 'asc', 'relevance', 5, null, true),
      fc.array(tie('any'), { maxLength: 12 }),
      fc.dictionary(fc.constantFrom(...names, ...inner), tie('any'), { maxKeys: 6, noNullPrototype: true }),
    ),
  })).any;
  fc.assert(
    fc.property(fc.constantFrom(...bodies), value, (schema, body) => {
      const violations = createRules(schema);
      assert.deepEqual(violations(trimValue(body, schema), ''), violations(body, ''));
    }),
    { numRuns: runs(3000), seed: 20261117 },
  );
});
