import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../evidence/src/testing/size.ts';
import { compileConditions, detectedIn } from './compile-condition.ts';
import { parseConditions } from './condition.ts';
import type { EventFacts } from './event-facts.ts';
import { anyAskedEvent, anyConditions, type AskedEvent, factsOf } from './testing/any-condition.ts';
import { plainlyHold } from './testing/plain-condition.ts';

function compiled(conditions: unknown) {
  const { conditions: sound, faults } = parseConditions(conditions, 'conditions');
  assert.ok(sound, JSON.stringify(faults));
  return compileConditions(sound);
}

const EVENT: AskedEvent = {
  action: 'Delete.Invoice',
  classification: 'Confidential',
  outcome: 'Success',
  correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  actor: { actorType: 'User', userId: 'u-1' },
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
  context: { ipAddress: '10.0.0.1' },
  payload: Object.fromEntries(
    Object.entries({
      amount: 1000,
      zero: 0,
      text: '1000',
      paid: true,
      nothing: null,
      empty: {},
      none: [],
      tags: ['urgent', 7, null],
      lines: [{ sku: 'A-1', quantity: 2, notes: ['x'] }, { sku: 'B-2' }, 'loose'],
      'a.b': 'dotted',
      in: 'a key',
      face: '😀',
      __proto__: undefined,
    }).concat([['__proto__', 'own']]),
  ),
};

/** As both evaluators say. */
function holds(conditions: Readonly<Record<string, unknown>>, event: AskedEvent = EVENT): boolean {
  const isHeld = compiled(conditions)(factsOf(event));
  assert.equal(plainlyHold(conditions, event), isHeld, `both say the same of ${JSON.stringify(conditions)}`);
  return isHeld;
}

const TABLE: Record<
  string,
  { held: Readonly<Record<string, unknown>>[]; not: Readonly<Record<string, unknown>>[] }
> = {
  'no condition holds for all, and all must hold': {
    held: [{}, { payload: {} }, { action: 'Delete.Invoice', 'payload.amount': 1000 }],
    not: [
      { action: 'Delete.Invoice', 'payload.amount': 1 },
      { 'payload.amount': 1000, payload: { amount: 1 } },
    ],
  },
  'each root can be asked for': {
    held: [
      { outcome: 'Success' },
      { correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11' },
      { 'actor.userId': 'u-1' },
      { actor: { userId: 'u-1' } },
      { 'resource.resourceType': ['Invoice', 'Order'] },
      { 'context.ipAddress': { startsWith: '10.' } },
      {
        actor: { exists: true },
        resource: { exists: true },
        context: { exists: true },
        payload: { exists: true },
      },
    ],
    not: [{ outcome: 'Denied' }, { 'actor.userId': 'u-2' }, { payload: { exists: false } }],
  },
  'actions and classifications are lists in which a trailing * is a prefix': {
    held: [
      { actions: ['Delete.Invoice'] },
      { actions: ['Read.User', 'Delete.*'] },
      { actions: ['*'] },
      { classifications: ['Public', 'C*'] },
      { action: 'Delete.*' },
      { action: { in: ['Del*'] } },
      { action: { ne: 'Read.*' } },
      { classification: 'Conf*' },
    ],
    not: [
      { actions: [] },
      { actions: ['Delete'] },
      { actions: ['delete.*'] },
      { actions: ['*.Invoice'] },
      { classifications: ['Secret', 'P*'] },
      { action: { ne: 'Delete.*' } },
      { 'actor.userId': 'u*' },
      { action: { startsWith: 'Delete.*' } },
    ],
  },
  'eq, ne and in compare JSON type and value, and case': {
    held: [
      { 'payload.amount': 1000 },
      { 'payload.text': '1000' },
      { 'payload.paid': { eq: true } },
      { 'payload.nothing': null },
      { 'payload.zero': -0 },
      { 'payload.amount': ['1000', 1000] },
      { 'payload.amount': { ne: '1000' } },
      { 'payload.empty': { ne: null } },
    ],
    not: [
      { 'payload.amount': '1000' },
      { 'payload.text': 1000 },
      { 'payload.paid': 'true' },
      { 'payload.zero': [false, null, ''] },
      { 'payload.amount': [] },
      { 'resource.resourceType': 'invoice' },
      { 'payload.amount': { ne: 1000 } },
    ],
  },
  'gt to lte compare two numbers or two strings by code point, and nothing else': {
    held: [
      { 'payload.amount': { gt: 999, gte: 1000, lt: 1000.5, lte: 1000 } },
      { 'payload.text': { gt: '10', lte: '1000', lt: '2' } },
      { 'payload.face': { gt: '\uffff' } },
      { 'payload.face': { gte: '😀', lt: '😁' } },
      { action: { gte: 'Delete', lt: 'Delete.K' } },
    ],
    not: [
      { 'payload.amount': { gt: 1000 } },
      { 'payload.amount': { lt: 1000 } },
      { 'payload.amount': { gt: '0' } },
      { 'payload.text': { gt: 0 } },
      { 'payload.face': { lt: '\uffff' } },
      { 'payload.nothing': { lte: 0 } },
      { 'payload.paid': { gte: 0 } },
      { 'payload.tags': { gte: '' } },
    ],
  },
  'contains is a part of a text, or an element of a list': {
    held: [
      { 'payload.text': { contains: '00' } },
      { 'payload.tags': { contains: 'urgent' } },
      { 'payload.tags': { contains: 7 } },
      { 'payload.tags': { contains: null } },
      { 'resource.resourceId': { contains: '-4' } },
    ],
    not: [
      { 'payload.tags': { contains: 'urg' } },
      { 'payload.tags': { contains: '7' } },
      { 'payload.amount': { contains: 1000 } },
      { 'payload.text': { contains: 1000 } },
      { 'payload.empty': { contains: 'x' } },
    ],
  },
  'startsWith is for texts': {
    held: [{ 'payload.text': { startsWith: '10' } }, { 'payload.text': { startsWith: '' } }],
    not: [{ 'payload.amount': { startsWith: '10' } }, { 'payload.text': { startsWith: '0' } }],
  },
  'a missing field satisfies only ne and exists: false, and null is not missing': {
    held: [
      { 'payload.x': { ne: 1 } },
      { 'payload.x': { ne: null } },
      { 'payload.x': { exists: false } },
      { 'payload.x.y[3].z': { exists: false, ne: 'x' } },
      { 'actor.serviceId': { exists: false } },
      { 'payload.nothing': { exists: true } },
      { 'payload.none': { exists: true } },
    ],
    not: [
      { 'payload.x': null },
      { 'payload.x': [null] },
      { 'payload.x': { exists: true } },
      { 'payload.x': { gt: 0 } },
      { 'payload.x': { lte: '' } },
      { 'payload.x': { contains: '' } },
      { 'payload.x': { startsWith: '' } },
      { 'payload.x': { detects: 'Iban' } },
      { 'payload.nothing': { exists: false } },
    ],
  },
  'a number is an element, [*] is any of them, and a key never goes into a list': {
    held: [
      { '$.payload.lines[0].sku': 'A-1' },
      { 'payload.lines[*].sku': 'B-2' },
      { 'payload.lines[*]': 'loose' },
      { 'payload.lines[*].notes[*]': 'x' },
      { payload: { lines: { '[*]': { sku: 'A-1', quantity: { gt: 1 } } } } },
      { 'payload.lines[*].sku': { ne: 'C-3' } },
      { 'payload.none[*]': { ne: 'x', exists: false } },
      { 'payload.lines[9]': { exists: false } },
      // One element has the one, another the other.
      { 'payload.lines[*].sku': 'B-2', 'payload.lines[*].quantity': 2 },
    ],
    not: [
      { 'payload.lines[1].sku': 'A-1' },
      { 'payload.lines[*].sku': { ne: 'B-2' } },
      { 'payload.lines[*].sku': { exists: false } },
      { 'payload.lines.sku': 'A-1' },
      { 'payload.lines.0.sku': 'A-1' },
      { 'payload.lines.length': 3 },
      { 'payload.empty[*]': { exists: true } },
      { 'payload.text[0]': '1' },
      { 'payload.tags': 'urgent' },
    ],
  },
  'keys may have dots, the names of operators, or those of a prototype': {
    held: [
      { 'payload."a.b"': 'dotted' },
      { payload: { '["a.b"]': 'dotted' } },
      { 'payload.in': 'a key' },
      { payload: { '"in"': 'a key' } },
      { 'payload.__proto__': 'own' },
      { 'payload.toString': { exists: false } },
      { 'actor.__proto__': { exists: false }, 'actor.constructor': { exists: false } },
    ],
    not: [{ 'payload.a.b': 'dotted' }, { 'context.__proto__': { exists: true } }],
  },
  'detects looks at all below its path': {
    held: [{ context: { detects: 'IpAddress' } }, { 'context.ipAddress': { detects: 'IpAddress' } }],
    not: [{ payload: { detects: 'IpAddress' } }, { context: { detects: 'CardNumber' } }],
  },
};

for (const [title, { held, not }] of Object.entries(TABLE)) {
  test(title, () => {
    for (const conditions of held) assert.ok(holds(conditions), JSON.stringify(conditions));
    for (const conditions of not) assert.ok(!holds(conditions), JSON.stringify(conditions));
  });
}

test('an event without content, or with nothing decided, lacks these fields', () => {
  const { context: _, payload: __, ...bare } = EVENT;
  const event = { ...bare, classification: undefined, correlationId: undefined };
  assert.ok(holds({ payload: { exists: false }, context: { exists: false } }, event));
  assert.ok(holds({ classification: { ne: 'Secret' }, correlationId: { exists: false } }, event));
  assert.ok(!holds({ classifications: ['*'] }, event));
});

test('compiled conditions hold exactly where the plain ones do', () => {
  let heldCount = 0;
  const numRuns = runs(20_000);
  fc.assert(
    fc.property(anyConditions, anyAskedEvent, (conditions, event) => {
      const isHeld = compiled(conditions)(factsOf(event));
      if (isHeld && Object.keys(conditions).length > 0) heldCount += 1;
      assert.equal(isHeld, plainlyHold(conditions, event));
    }),
    { numRuns, seed: 20260202 },
  );
  assert.ok(heldCount > numRuns / 10, `only ${heldCount} of ${numRuns} held`);
});

const unread = (facts: Partial<EventFacts>): EventFacts => ({
  ...factsOf(EVENT),
  content: () => assert.fail('content was parsed'),
  ...facts,
});

test('content is read only where no fact has decided, whatever the order in which they are written', () => {
  const conditions = { payload: { detects: 'Iban' }, 'payload.a': 1, 'actor.userId': 'u-2', action: 'X.Y' };
  assert.equal(compiled(conditions)(unread({})), false);
  assert.equal(compiled({ 'payload.a': 1, 'actor.userId': 'u-2' })(unread({})), false);
  const facts = compiled({ 'actor.userId': 'u-1', outcome: { exists: true } });
  assert.equal(facts(unread({})), true);
  assert.equal(compiled({})(unread({})), true);
});

test('single facts are asked before members, plain values of content before detectors', () => {
  const asked: string[] = [];
  const facts: EventFacts = {
    ...factsOf(EVENT),
    get action() {
      asked.push('action');
      return EVENT.action;
    },
    get actor() {
      asked.push('actor');
      return EVENT.actor;
    },
    content() {
      asked.push('content');
      return {
        get context(): Record<string, unknown> {
          asked.push('context');
          return {};
        },
        get payload(): Record<string, unknown> {
          asked.push('payload');
          return { a: 1 };
        },
      };
    },
  };
  const conditions = {
    context: { detects: 'Iban' },
    'payload.a': 1,
    actor: { userId: 'u-1' },
    actions: ['*'],
  };
  assert.equal(compiled(conditions)(facts), false);
  assert.deepEqual(asked, ['action', 'actor', 'content', 'payload', 'content', 'context']);
});

test('what detectors have found is told by its paths', () => {
  const card = '4111 1111 1111 1111';
  const payload = {
    cards: [{ number: card }, { number: 'none' }, { number: card }],
    note: `card ${card}`,
    'a b': card,
  };
  const found = (conditions: unknown, max = 10) =>
    detectedIn(parseConditions(conditions, '').conditions!, factsOf({ ...EVENT, payload }), max);
  const detects = { detects: 'CardNumber' };
  assert.deepEqual(found({ payload: detects }), [
    'payload.cards[0].number',
    'payload.cards[2].number',
    'payload.note',
    'payload."a b"',
  ]);
  assert.deepEqual(found({ 'payload.cards[*].number': detects }), [
    'payload.cards[0].number',
    'payload.cards[2].number',
  ]);
  assert.deepEqual(found({ payload: detects, 'payload.note': detects }, 2), [
    'payload.cards[0].number',
    'payload.cards[2].number',
  ]);
  assert.deepEqual(found({ 'payload.cards[2]': detects, context: { detects: 'IpAddress' } }), [
    'payload.cards[2].number',
    'context.ipAddress',
  ]);
  assert.deepEqual(found({ 'payload.note': { contains: 'card' }, action: 'Delete.*' }), []);
  assert.deepEqual(found({ 'payload.x[*].y': detects }), []);
});
