// The tail of the log as a subscription over server-sent events.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { adminCaller, type AdminCaller, callerOf, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let acme: AdminCaller;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
  acme = await callerOf(app, 'acme');
});
after(() => app[Symbol.asyncDispose]());

interface Message {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** What comes; leaving the loop leaves the tail. */
async function* subscribed(query: string, key = acme.key, tenant = 'acme'): AsyncGenerator<Message> {
  const stop = new AbortController();
  const response = await fetch(`${app.url}/graphql/v2`, {
    method: 'POST',
    headers: {
      'X-API-Key': key,
      'X-Tenant-Id': tenant,
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
    },
    body: JSON.stringify({ query }),
    signal: stop.signal,
  });
  if (!response.headers.get('Content-Type')!.startsWith('text/event-stream'))
    throw new Error(await response.text());
  try {
    let text = '';
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk).toString();
      const messages = text.split('\n\n');
      text = messages.pop()!;
      for (const message of messages) {
        const [event] = /(?<=^event: ).*$/m.exec(message) ?? [];
        const [id] = /(?<=^id: ).*$/m.exec(message) ?? [];
        const [data = ''] = /(?<=^data: ).*$/m.exec(message) ?? [];
        if (event !== undefined) yield { event, id, data };
      }
    }
  } finally {
    stop.abort();
  }
}

const QUERY = '{ action sequence }';

test('entries come from where it is asked for, and then as they are appended; a client goes on from the last id', async () => {
  await acme.send(3);
  const all: Message[] = [];
  let next: string | undefined;
  for await (const message of subscribed(`subscription { logGrew(fromSequence: 1) ${QUERY} }`)) {
    all.push(message);
    if (all.length === 3) await acme.send(2);
    if (message.data.includes('Delete.Invoice')) next = message.id;
    if (all.filter(({ data }) => data.includes('Delete.Invoice')).length === 5) break;
  }
  assert.ok(
    all.every(({ event, id }, i) => event === 'next' && id === String(i + 1)),
    JSON.stringify(all),
  );
  const from = Number(next) + 1;
  await acme.send(1);
  for await (const { id, data } of subscribed(`subscription { logGrew(fromSequence: ${from}) ${QUERY} }`)) {
    assert.deepEqual(
      [id, JSON.parse(data)],
      [String(from), { data: { logGrew: { action: 'Delete.Invoice', sequence: from } } }],
    );
    break;
  }
});

test('a key that is revoked ends the tail with the error', async () => {
  const reader = await callerOf(app, 'acme', ['Auditor']);
  const keys = (await adminCaller(app, 'acme').get('/api/v1/admin/api-keys?tenantId=acme')).text;
  const { data } = JSON.parse(keys) as { data: { keyId: string; roles: string[] }[] };
  const { keyId } = data.find(({ roles }) => roles[0] === 'Auditor')!;
  const told: Message[] = [];
  for await (const message of subscribed(`subscription { logGrew(fromSequence: 1) ${QUERY} }`, reader.key)) {
    if (told.length === 0) {
      const response = await fetch(`${app.url}/api/v1/admin/api-keys/${keyId}`, {
        method: 'DELETE',
        headers: { 'X-API-Key': acme.key, 'X-Tenant-Id': 'acme' },
      });
      assert.equal(response.status, 204);
    }
    told.push(message);
  }
  assert.deepEqual(
    told.slice(-2).map(({ event }) => event),
    ['next', 'complete'],
  );
  assert.match(told.at(-2)!.data, /"code":"API_KEY_REVOKED"/);
});

test('what is no tail is answered at once, and a tail only in this form', async () => {
  const told = async (query: string) => {
    const messages: Message[] = [];
    for await (const message of subscribed(query)) messages.push(message);
    return messages.map(({ event, data }) => [event, data]);
  };
  assert.deepEqual(await told('{ __typename }'), [
    ['next', '{"data":{"__typename":"Query"}}'],
    ['complete', ''],
  ]);
  assert.match(JSON.stringify(await told('{ nonsense }')), /VALIDATION_FAILED.*complete/);
  assert.match(
    JSON.stringify(await told('subscription { logGrew(fromSequence: 0) { __typename } }')),
    /fromSequence.*complete/,
  );
  const links = 'subscription { logGrew(fromSequence: 1) { integrity { stream { status } } } }';
  for await (const { data } of subscribed(links)) {
    assert.match(data, /A tail has no links/);
    break;
  }
  const asJson = await fetch(`${app.url}/graphql/v2`, {
    method: 'POST',
    headers: { 'X-API-Key': acme.key, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: 'subscription { logGrew { __typename } }' }),
  });
  assert.deepEqual([asJson.status, (await asJson.text()).includes('text/event-stream')], [400, true]);
  await assert.rejects(subscribed('{ __typename }', 'another').next(), /UNAUTHENTICATED/);
});
