// What those who manage subscriptions could find out by deliveries that they may not know: through the whole service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Subscription, TestDelivery } from '@tallystick/contract';
import { Consumer } from '../testing/consumer.ts';
import { startDelivering } from '../testing/delivering-app.ts';
import { filesWith } from '../testing/redacting.ts';
import { detailsOf, subscribing } from '../testing/subscribing.ts';

const app = startDelivering();

const askerOf = (tenant: string) => subscribing(() => app, tenant);
const to = ({ url }: Consumer, more: object = {}) => ({
  name: 'SIEM',
  url,
  eventTypes: ['AuditEventReceived'],
  ...more,
});

test('who sends deliveries to a place of their own does not get the credentials of the place before', async () => {
  await using theirs = await Consumer.start();
  await using mine = await Consumer.start();
  const ask = askerOf('redirected');
  const headers = { Authorization: 'Bearer of-theirs', 'X-Team': 'blue' };
  const { body: made } = await ask('POST', '', to(theirs, { headers }));
  const path = `/${made.subscriptionId}`;
  const shown = { Authorization: '[REDACTED]', 'X-Team': 'blue' };
  const moves = [
    ['PATCH', { url: mine.url }],
    ['PATCH', { url: mine.url, headers: { Authorization: '[REDACTED]' } }],
    ['PUT', to(mine, { headers: shown })],
  ] as const;
  for (const [method, body] of moves) {
    const told = await ask(method, path, body);
    assert.equal(told.code, '422 VALIDATION_FAILED', told.text);
    assert.deepEqual(detailsOf(told), [
      'headers.Authorization must be sent anew: what is kept goes to the origin that it was sent for alone',
    ]);
  }
  const elsewhere = await ask<Subscription>('PATCH', path, { url: `${theirs.url}/further` });
  assert.deepEqual([elsewhere.code, elsewhere.body.headers], ['200', shown], 'it is the same origin');
  const anew = await ask('PATCH', path, { url: mine.url, headers: { Authorization: 'Bearer of-mine' } });
  assert.equal(anew.code, '200', anew.text);
  await ask('POST', `${path}/test`);
  const [got] = await mine.gotMany(1);
  assert.deepEqual([got!.headers.authorization, got!.headers['x-team']], ['Bearer of-mine', 'blue']);
});

test('what a consumer answers to a test is shown once and kept nowhere', async () => {
  await using consumer = await Consumer.start();
  consumer.reply = () => (response) => void response.end('canary-in-an-answer');
  const ask = askerOf('answered');
  const { body: made } = await ask('POST', '', to(consumer));
  const tested = () =>
    ask<TestDelivery>('POST', `/${made.subscriptionId}/test`, undefined, { 'Idempotency-Key': 'once' });
  const first = await tested();
  assert.equal(first.body.attempt.responseBody, 'canary-in-an-answer');
  const again = await tested();
  assert.equal(again.body.webhookId, first.body.webhookId);
  assert.equal(again.body.attempt.responseBody, undefined);
  assert.equal(consumer.got.length, 1);
  assert.deepEqual(filesWith(app.dataDirectory, 'canary-in-an-answer'), []);
});
