import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { processorMs } from '../testing/processor-time.ts';
import { compileConditions } from './compile-condition.ts';
import { parseConditions } from './condition.ts';
import { anyAskedEvent, factsOf } from './testing/any-condition.ts';
import { plainlyHold } from './testing/plain-condition.ts';

const AT = 'rules[2].conditions';

function faultsOf(conditions: unknown) {
  return parseConditions(conditions, AT).faults ?? [];
}

/** Where they are, without the place of all of them. */
function fieldsOf(conditions: unknown): string[] {
  return faultsOf(conditions).map(({ field }) => {
    assert.ok(field.startsWith(AT), field);
    return field.slice(AT.length);
  });
}

const members = (count: number, value: unknown = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]));

const nested = (depth: number, inner: unknown): unknown =>
  depth === 0 ? inner : { a: nested(depth - 1, inner) };

test('each fault has its full path, what is wrong, and the value where it is plain', () => {
  assert.deepEqual(faultsOf({ 'payload.amount': { gt: true } }), [
    { field: 'rules[2].conditions.payload.amount.gt', issue: 'must be a number or text', value: true },
  ]);
  assert.deepEqual(parseConditions({ payload: { amount: { gt: {} } } }, '').faults, [
    { field: 'payload.amount.gt', issue: 'must be a number or text' },
  ]);
  const [{ field, value } = assert.fail()] = faultsOf({ classification: 'x'.repeat(300) });
  assert.deepEqual([field, value], [`${AT}.classification`, 'x'.repeat(200)]);
});

test('refuses what the contract names, at its path', () => {
  const long = 'x'.repeat(LIMITS.conditionTextLengthMax + 1);
  const table: [conditions: unknown, fields: string[]][] = [
    // No object.
    [null, ['']],
    [[], ['']],
    ['payload', ['']],
    // An unknown root.
    [{ eventId: 'x' }, ['.eventId']],
    [{ timestamp: { gt: 'x' } }, ['.timestamp']],
    [{ payloads: {} }, ['.payloads']],
    [{ eq: 1 }, ['.eq']],
    [{ Action: 'x' }, ['.Action']],
    [{ '[0]': 1, $: 1, '$.': 1, '$.x.y': 1, __proto__x: 1 }, ['[0]', '.$', '.$.', '.$.x.y', '.__proto__x']],
    [Object.fromEntries([['__proto__', { a: 1 }]]), ['.__proto__']],
    // A classification that is none.
    [{ classification: 'secret' }, ['.classification']],
    [{ classification: { ne: 'Top' } }, ['.classification.ne']],
    [{ classification: { in: ['Secret', 'Top'] } }, ['.classification.in[1]']],
    [
      { classifications: ['Secret', 'X*', 'Secrets*', 5, null] },
      [1, 2, 3, 4].map((i) => `.classifications[${i}]`),
    ],
    [{ classification: null }, ['.classification']],
    [{ classification: { gte: 'Confidential' } }, ['.classification.gte']],
    // An operand of the wrong type.
    [{ 'payload.a': { eq: {} } }, ['.payload.a.eq']],
    [{ 'payload.a': { eq: [1] } }, ['.payload.a.eq']],
    [{ 'payload.a': { ne: [] } }, ['.payload.a.ne']],
    [
      { 'payload.a': { gt: null, gte: true, lt: [], lte: {} } },
      ['gt', 'gte', 'lt', 'lte'].map((each) => `.payload.a.${each}`),
    ],
    [{ 'payload.a': { in: 'x' } }, ['.payload.a.in']],
    [{ 'payload.a': { in: [1, [2], {}] } }, ['.payload.a.in[1]', '.payload.a.in[2]']],
    [{ 'payload.a': [1, [2]] }, ['.payload.a[1]']],
    [{ 'payload.a': { contains: {} } }, ['.payload.a.contains']],
    [{ 'payload.a': { startsWith: 1 } }, ['.payload.a.startsWith']],
    [{ 'payload.a': { exists: 'yes' } }, ['.payload.a.exists']],
    [{ 'payload.a': { exists: null } }, ['.payload.a.exists']],
    [{ actions: 'Delete.*' }, ['.actions']],
    [{ actions: { in: ['Delete.*'] } }, ['.actions']],
    [{ actions: ['Delete.*', 1] }, ['.actions[1]']],
    [{ classifications: 'Secret' }, ['.classifications']],
    [{ action: 5, outcome: true, 'actor.userId': null }, ['.action', '.outcome', '.actor.userId']],
    [
      { 'resource.resourceId': { gt: 5, contains: 5, in: [5] } },
      ['gt', 'in[0]', 'contains'].map((each) => `.resource.resourceId.${each}`),
    ],
    [{ actor: 'u-1', payload: ['x'], context: { eq: 1 } }, ['.actor', '.payload', '.context.eq']],
    // Operators mixed with other keys.
    [{ 'payload.a': { gt: 1, b: 2 } }, ['.payload.a']],
    [{ payload: { a: { b: 2, exists: 'x' } } }, ['.payload.a', '.payload.a.exists']],
    // Operators that are none, and what is below a text or a list.
    [{ action: { like: 'x' } }, ['.action.like']],
    [
      { 'action.verb': 'x', 'outcome[0]': 'x', 'actions[0]': 'x' },
      ['.action.verb', '.outcome[0]', '.actions[0]'],
    ],
    // Detectors.
    [{ payload: { detects: 'Password' } }, ['.payload.detects']],
    [{ payload: { detects: ['Iban'] } }, ['.payload.detects']],
    [{ 'context.a': { detects: null } }, ['.context.a.detects']],
    [{ action: { detects: 'Iban' }, actor: { detects: 'Iban' } }, ['.action.detects', '.actor.detects']],
    // Texts and lists that are too long.
    [{ 'payload.a': long }, ['.payload.a']],
    [
      { 'payload.a': { startsWith: long, gt: long, contains: long, in: [long] } },
      ['gt', 'in[0]', 'contains', 'startsWith'].map((each) => `.payload.a.${each}`),
    ],
    [{ actions: [long] }, ['.actions[0]']],
    [{ 'payload.a': Array(LIMITS.conditionItemsMax + 1).fill(undefined) }, ['.payload.a']],
    [{ actions: Array(LIMITS.conditionItemsMax + 1).fill('x') }, ['.actions']],
    // Paths that are none.
    [{ payload: { '': 1 } }, ['.payload[""]']],
    [{ '': 1 }, ['[""]']],
    [{ 'payload.': 1, 'payload..a': 1, '.payload': 1 }, ['.payload.', '.payload..a', '..payload']],
    [
      { 'payload.a[': 1, 'payload.a]': 1, 'payload.a[b]': 1, 'payload.a[-1]': 1 },
      ['.payload.a[', '.payload.a]', '.payload.a[b]', '.payload.a[-1]'],
    ],
    [
      { 'payload.a[0]b': 1, 'payload."a': 1, "payload['a'": 1, 'payload.*': 1 },
      ['.payload.a[0]b', '.payload."a', ".payload['a'", '.payload.*'],
    ],
  ];
  for (const [conditions, fields] of table)
    assert.deepEqual(fieldsOf(conditions), fields, JSON.stringify(conditions)?.slice(0, 100));
});

test('takes conditions up to each limit, and no further', () => {
  const { conditionsMax, conditionPathStepsMax, conditionPathLengthMax } = LIMITS;
  const path = (length: number) => `payload.${'😀'.repeat(length - 'payload.'.length)}`;
  const sound: unknown[] = [
    { payload: members(conditionsMax) },
    { payload: members(conditionsMax / 2, { gt: 1, lt: 2 }) },
    { payload: members(conditionsMax, {}) },
    { [`payload${'.a'.repeat(conditionPathStepsMax - 1)}`]: 1 },
    { payload: nested(conditionPathStepsMax - 1, 1) },
    { [path(conditionPathLengthMax)]: 1 },
    { 'payload.a': Array(LIMITS.conditionItemsMax).fill(1) },
    { 'payload.a': '😀'.repeat(LIMITS.conditionTextLengthMax) },
  ];
  for (const conditions of sound) assert.deepEqual(faultsOf(conditions), []);
  const over: [conditions: unknown, field: string][] = [
    [{ payload: members(conditionsMax + 1) }, ''],
    [{ payload: members(conditionsMax / 2 + 1, { gt: 1, lt: 2 }) }, ''],
    [{ payload: members(conditionsMax + 1, {}) }, ''],
    [
      { [`payload${'.a'.repeat(conditionPathStepsMax)}`]: 1 },
      `.payload${'.a'.repeat(conditionPathStepsMax)}`,
    ],
    [{ payload: nested(conditionPathStepsMax, 1) }, `.payload${'.a'.repeat(conditionPathStepsMax)}`],
    [{ 'payload.a': '😀'.repeat(LIMITS.conditionTextLengthMax + 1) }, '.payload.a'],
  ];
  for (const [conditions, field] of over) assert.deepEqual(fieldsOf(conditions), [field]);
  const tooLong = [{ [path(conditionPathLengthMax + 1)]: 1 }, { payload: { b: { [path(505)]: 1 } } }];
  for (const conditions of tooLong) assert.match(faultsOf(conditions)[0]!.issue, /over 512 characters/);
});

test('the two forms of a path, and all spellings, are the same path', () => {
  const same = [
    { 'payload.lines[0].a.b': 'x' },
    { payload: { lines: { '[0]': { a: { b: 'x' } } } } },
    { payload: { 'lines[0].a.b': 'x' } },
    { 'payload.lines[0]': { a: { b: { eq: 'x' } } } },
    { '$.payload.lines[0].a.b': ['x'] },
    { "$['payload']['lines'][0]": { 'a.b': 'x' } },
    { 'payload."lines"[0]["a"].b': 'x' },
  ];
  const [first, ...others] = same.map((each) => parseConditions(each, AT).conditions);
  for (const other of others) assert.deepEqual(other, first);
  const keys = { 'payload."a.b"': 1, "payload['a.b']": 1, payload: { '"a.b"': 1 } };
  for (const { path } of parseConditions(keys, AT).conditions!) assert.deepEqual(path, ['payload', 'a.b']);
  const [escaped] = parseConditions({ 'payload."a\\"\\\\b"': 1 }, AT).conditions!;
  assert.deepEqual(escaped?.path, ['payload', 'a"\\b']);
  const dollar = parseConditions({ payload: { '$.a': 1, $b: 1 } }, AT).conditions!;
  assert.deepEqual(
    dollar.map(({ path }) => path),
    [
      ['payload', '$', 'a'],
      ['payload', '$b'],
    ],
  );
  // The name of an operator is a key where it is written as one.
  assert.deepEqual(parseConditions({ 'payload.amount.gt': 5 }, AT).conditions?.[0]?.path, [
    'payload',
    'amount',
    'gt',
  ]);
});

test('a step with nothing below it asks nothing, and the same path twice is two conditions', () => {
  assert.deepEqual(parseConditions({ payload: {}, 'actor.x': {}, action: {} }, AT).conditions, []);
  const twice = parseConditions({ 'payload.a': 1, payload: { a: 2 } }, AT).conditions;
  assert.deepEqual(
    twice?.map(({ path }) => path),
    [
      ['payload', 'a'],
      ['payload', 'a'],
    ],
  );
});

test('the check stops at the limit of details, and counts before it looks', () => {
  const bad = { payload: members(64, Array(1000).fill(undefined)) };
  assert.equal(faultsOf(bad).length, LIMITS.errorDetailsMax);
  assert.equal(parseConditions(bad, AT, 7).faults?.length, 7);
  assert.equal(parseConditions(bad, AT, 0).faults?.length, 1);
  assert.deepEqual(fieldsOf(members(100_000)).slice(-1), ['']);
  assert.equal(fieldsOf(members(100_000)).length, LIMITS.conditionsMax + 1);
});

test('hostile depth and size cost no more than their text', async () => {
  let deep: unknown = 1;
  for (let i = 0; i < 200_000; i++) deep = { a: deep };
  const hostile: unknown[] = [
    { payload: deep },
    { payload: members(100_000, {}) },
    { payload: members(100_000, deep) },
    { payload: { ...members(100_000), gt: 1 } },
    { ['payload'.padEnd(1_000_000, '.a')]: 1 },
    { [`payload${'[0]'.repeat(300_000)}`]: 1 },
    { 'payload.a': members(64, 'x'.repeat(1_000_000)) },
    { payload: members(64, Array(1000).fill('x'.repeat(10_000))) },
  ];
  for (const conditions of hostile) {
    const ms = await processorMs(() => assert.ok(faultsOf(conditions).length > 0));
    assert.ok(ms < 1000, `${ms} ms`);
  }
});

test('anything is either sound, and then means what it plainly says, or has faults', () => {
  const root = fc.constantFrom(
    'payload',
    'payload.a',
    'action',
    'actions',
    '$.context',
    'classification',
    'x',
    'actor',
  );
  const key = fc.oneof(root, fc.constantFrom('gt', 'in', 'exists', 'eq', 'a', '[*]', '"', ''), fc.string());
  const any = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('Secret', 'x', '*', 1, true, null),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(key, tie('value'), { maxKeys: 2 }),
    ),
  })).value;
  let soundCount = 0;
  fc.assert(
    fc.property(
      fc.dictionary(fc.oneof(root, key), any, { maxKeys: 2 }),
      anyAskedEvent,
      (conditions, event) => {
        const { conditions: sound, faults } = parseConditions(conditions, AT);
        if (sound === undefined)
          return faults.every(({ field, issue }) => field.startsWith(AT) && issue !== '');
        soundCount += 1;
        return compileConditions(sound)(factsOf(event)) === plainlyHold(conditions, event);
      },
    ),
    { numRuns: runs(3000), seed: 20260201 },
  );
  assert.ok(soundCount > 100, `only ${soundCount} were sound`);
});
