// What comes as JSON becomes the input of an operation: here where it is small, in another thread where it is large.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyBudget } from '../http/body-budget.ts';
import { LARGE_BYTES } from '../input/json-body.ts';
import { type MessageForm, parseMessage } from '../protobuf/message-form.ts';
import { methodAt } from './methods.ts';
import { sentMessage } from './sent-message.ts';

const elsewhere: (MessageForm | undefined)[] = [];
const parts: Parameters<typeof sentMessage>[4] = {
  budget: new BodyBudget(10_000_000),
  async parseElsewhere(_, { bytes, rules, isKeyed, form }) {
    elsewhere.push(form);
    return parseMessage(bytes, form!, rules, isKeyed);
  },
};

async function sent(path: string, message: unknown) {
  const method = methodAt(`/tallystick.v2.EventsService/${path}`)!;
  const { members, body } = await sentMessage(method, 'Json', asBytes(message), 'acme', parts);
  return { members, body: body && (JSON.parse(String(body)) as unknown) };
}
const asBytes = (value: unknown) =>
  typeof value === 'string' ? Buffer.from(value) : Buffer.from(JSON.stringify(value));

const search = (query: string) => ({ search: { query, filters: { actor_types: ['ACTOR_TYPE_USER'] } } });
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 0]));

test('JSON is read in another thread where it is large, and means the same', async () => {
  const query = 'a'.repeat(LARGE_BYTES);
  const [small, large] = [await sent('Search', search('a')), await sent('Search', search(query))];
  assert.deepEqual(
    elsewhere.map((form) => form?.kind),
    ['Json'],
  );
  assert.deepEqual(small.body, { query: 'a', filters: { actorTypes: ['User'] } });
  assert.deepEqual(large, { ...small, body: { ...(small.body as object), query } });
});

test('large JSON that cannot be read is refused as small one is', async () => {
  for (const [message, code] of [
    ['[]', 'MALFORMED_JSON'],
    ['{"eventId":', 'MALFORMED_JSON'],
    ['{"eventId":"a","eventId":"b"}', 'VALIDATION_FAILED'],
  ] as const)
    for (const text of [message, message + ' '.repeat(LARGE_BYTES)])
      await assert.rejects(() => sent('Get', text), { code }, message);
});

test('members are refused before values are made of them where they are too many to be any', async () => {
  await assert.rejects(() => sent('Get', { eventId: keys(40_000) }), {
    code: 'REQUEST_TOO_LARGE',
    message: /^The input is \d+ bytes as JSON; the limit is 131072\.$/,
  });
});
