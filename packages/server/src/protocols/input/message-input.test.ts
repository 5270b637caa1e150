// The input of an operation from one message: members by name, and a body as JSON text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operationNamed, type OperationName } from '@tallystick/contract';
import { JsonText, UnreadValue } from '../../call.ts';
import { createValidate } from '../../gateway/validate.ts';
import { EVENT, EVENT_ID } from '../../testing/bound-operations.ts';
import { BodyBudget } from '../http/body-budget.ts';
import { parseBody } from './parse-body.ts';
import { messageBinding, receiveMessage, type SentMessage } from './message-input.ts';

const elsewhere: number[] = [];
const parts = {
  budget: new BodyBudget(10_000_000),
  parseElsewhere: (_: string, { bytes, rules, isKeyed }: Parameters<Parts['parseElsewhere']>[1]) => {
    elsewhere.push(bytes.length);
    return Promise.resolve(parseBody(bytes, rules, isKeyed));
  },
};
type Parts = Parameters<typeof receiveMessage>[4];

function received(name: OperationName, sent: Partial<SentMessage>, isKeyed = false) {
  const message = { members: {}, body: undefined, address: '/toy', ...sent };
  return receiveMessage(messageBinding(operationNamed(name)), message, 'acme', isKeyed, parts);
}

const asText = (value: unknown) => Buffer.from(JSON.stringify(value));

test('an event is left unread, and its payload is kept as text', async () => {
  const { input, text } = await received('events.ingest', {
    body: asText({ ...EVENT, payload: { b: 1, a: 2 } }),
  });
  assert.ok(input['event'] instanceof UnreadValue && text !== undefined);
  const { payload } = input['event'].read() as { payload: unknown };
  assert.ok(payload instanceof JsonText);
  assert.equal(Buffer.from(payload.bytes).toString(), '{"a":2,"b":1}');
});

test('identifiers are read without regard to case, and named members are checked by their names', async () => {
  const { input } = await received('events.get', { members: { eventId: EVENT_ID.toLowerCase() } });
  assert.deepEqual(input, { eventId: EVENT_ID });
  const faulty = await received('events.list', { members: { limit: 5000, outcome: 7 } });
  const operation = operationNamed('events.list');
  assert.throws(
    () => createValidate()(operation, faulty),
    ({ code, details }: { code: string; details: { field: string }[] }) => {
      assert.deepEqual(
        [code, details.map(({ field }) => field)],
        ['VALIDATION_FAILED', ['outcome', 'limit']],
      );
      return true;
    },
  );
});

test('JSON that we do not take is refused wherever it stands', async () => {
  const inMember = await received('events.list', { members: { q: 'a\ud800' } });
  const inBody = await received('events.search', { body: Buffer.from('{"query":"a","query":"b"}') });
  assert.deepEqual(
    [inMember, inBody].map(({ violations }) => violations.map(({ field }) => field)),
    [['q'], ['query']],
  );
  const tooLong = { members: { q: 'x'.repeat(200_000) } };
  assert.throws(() => received('events.list', tooLong), { code: 'REQUEST_TOO_LARGE' });
  assert.throws(() => received('events.search', { body: Buffer.alloc(1024 * 1024 + 1, ' ') }), {
    code: 'REQUEST_TOO_LARGE',
  });
});

test('a repeat is known by the address, the members and the body, whatever their order', async () => {
  const known = async (address: string, members: object, body: string) => {
    const sent = { address, members: { ...members }, body: Buffer.from(body) };
    const { fingerprinted } = await received('policies.replace', sent, true);
    return JSON.stringify(fingerprinted);
  };
  const first = await known('/toy', { policyId: 'a', ifMatch: '"1"' }, '{"name":"n","rules":[]}');
  assert.equal(await known('/toy', { ifMatch: '"1"', policyId: 'a' }, '{ "rules": [], "name": "n" }'), first);
  assert.notEqual(await known('/soap', { policyId: 'a', ifMatch: '"1"' }, '{"name":"n","rules":[]}'), first);
  assert.notEqual(await known('/toy', { policyId: 'b', ifMatch: '"1"' }, '{"name":"n","rules":[]}'), first);
  assert.notEqual(await known('/toy', { policyId: 'a', ifMatch: '"1"' }, '{"name":"m","rules":[]}'), first);
  assert.equal((await received('events.get', {})).fingerprinted, undefined);
});

test('a large body is parsed in the other thread', async () => {
  const body = asText({ events: [{ ...EVENT, payload: { text: 'x'.repeat(200_000) } }] });
  const { length } = body;
  const { input } = await received('events.ingestBatch', { body });
  assert.deepEqual(elsewhere, [length]);
  assert.ok(Array.isArray((input['batch'] as { events: unknown }).events));
});
