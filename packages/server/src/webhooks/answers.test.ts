// What becomes of the answers of consumers: pure, and through the whole service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Delivery, LIMITS, type List } from '@tallystick/contract';
import { Consumer, type Reply } from '../testing/consumer.ts';
import { type Consuming, consuming } from '../testing/consuming.ts';
import { QUICK, startDelivering } from '../testing/delivering-app.ts';
import { filesWith } from '../testing/redacting.ts';
import { until } from '../testing/until.ts';
import { answersIn, answerText, heardWith } from './answers.ts';
import type { Told } from './contents.ts';

const bytes = (text: string) => Buffer.from(text);
const lengthMax = LIMITS.deliveryAnswerLengthMax;

test('of an answer the beginning is shown, as one line of text', () => {
  assert.equal(answerText(bytes('{"ok":true}'), []), '{"ok":true}');
  assert.equal(answerText(bytes('a\r\nb\u0000\u001b[2J\u202ec\u2028'), []), 'a  b  [2J c ');
  assert.equal(answerText(bytes('x'.repeat(70_000)), []), 'x'.repeat(lengthMax));
  assert.equal(answerText(Buffer.from([0x1f, 0x8b, 0xff]), []), ' \ufffd\ufffd');
  const cut = answerText(bytes(`${'x'.repeat(lengthMax - 1)}😀`), []);
  assert.equal(cut, `${'x'.repeat(lengthMax - 1)}\ufffd`);
});

test('no answer is shown with a secret in it, where it ends behind the beginning neither', () => {
  const secrets = ['Bearer abc.def', 'abc.def', 'a"b\\c', 'x', ''];
  assert.equal(answerText(bytes('got Bearer abc.def, not abcxdef'), secrets), 'got [REDACTED], not abcxdef');
  assert.equal(answerText(bytes('{"t":"abc.def"}'), secrets), '{"t":"[REDACTED]"}');
  assert.equal(answerText(bytes(JSON.stringify(['a"b\\c'])), secrets), '["[REDACTED]"]');
  const late = `${'.'.repeat(lengthMax - 3)}abc.def`;
  assert.equal(answerText(bytes(late), secrets), `${'.'.repeat(lengthMax - 3)}[RE`);
  const many = answerText(bytes('abc.def'.repeat(5000)), secrets);
  assert.ok(/^(\[REDACTED\])+(\[\w*)?$/.test(many) && many.length <= lengthMax, many);
});

test('an answer is kept with those before it, unless it may repeat what is confidential, or is gone', async () => {
  const told = (more: Partial<Told> = {}): Told => ({
    content: {},
    classification: 'Internal',
    isUnchanged: async () => true,
    ...more,
  });
  const attempt = (at: string, responseBody?: string) => ({
    attemptNumber: 1,
    at,
    latencyMs: 1,
    ...(responseBody !== undefined && { responseBody }),
  });
  const first = await heardWith(undefined, attempt('1', 'no'), told());
  const second = await heardWith(first, attempt('2', 'yes'), told({ classification: undefined }));
  assert.deepEqual(answersIn(second), { 1: 'no', 2: 'yes' });
  assert.equal(await heardWith(second, attempt('3'), told()), undefined, 'it had no answer');
  for (const not of [
    told({ classification: 'Confidential' }),
    told({ classification: 'Secret' }),
    told({ isUnchanged: async () => false }),
    told({ isUnchanged: () => Promise.reject(new Error('away')) }),
  ])
    assert.equal(await heardWith(second, attempt('3', 'canary'), not), undefined);
  let heard: string | undefined;
  for (let i = 1; i <= 30; i++)
    heard = await heardWith(heard, attempt(`at ${i}`, 'x'.repeat(lengthMax)), told());
  assert.deepEqual(
    Object.keys(answersIn(heard)),
    Array.from({ length: 10 }, (_, i) => `at ${i + 21}`),
  );
});

const app = startDelivering(QUICK);

const saying =
  (text: string, status = 200): Reply =>
  (response) =>
    void response.writeHead(status).end(text);

async function acknowledged({ deliveries }: Consuming): Promise<readonly Delivery[]> {
  let found: readonly Delivery[] = [];
  await until(async () => (found = await deliveries('?status=Acknowledged')).length > 0);
  return found;
}

test('the history shows how the consumer answered each attempt, without the credentials that it was sent', async () => {
  await using consumer = await Consumer.start();
  consumer.reply = ({ headers, body, text }) => {
    const { signature } = body;
    const echo = { authorization: headers.authorization, all: headers, signature, text };
    return consumer.got.length === 1 ? saying('busy\u0007', 503) : saying(JSON.stringify(echo));
  };
  const headers = { Authorization: 'Bearer of-the-consumer', 'X-Team': 'blue' };
  const made = await consuming(app, 'shown', consumer, { headers });
  await made.tenant.send({});
  const [delivery] = await acknowledged(made);
  const [first, second] = delivery!.attempts.map(({ responseBody }) => responseBody!);
  assert.equal(first, 'busy ');
  assert.match(second!, /^\{"authorization":"\[REDACTED\]","all":\{/);
  assert.ok(second!.length > 500 && second!.length <= lengthMax, second);
  const got = consumer.got[1]!;
  for (const told of ['of-the-consumer', String(got.headers['x-audit-signature']), got.body.signature])
    assert.ok(!JSON.stringify(delivery).includes(told), told);
});

test('what is told of confidential events is answered into no history', async () => {
  await using consumer = await Consumer.start();
  consumer.reply = ({ text }) => saying(text, consumer.got.length === 1 ? 500 : 200);
  const made = await consuming(app, 'classified', consumer);
  await made.tenant.send({ classification: 'Confidential', payload: { note: 'canary-confidential' } });
  const [delivery] = await acknowledged(made);
  assert.deepEqual(
    delivery!.attempts.map(({ responseStatus, responseBody }) => [responseStatus, responseBody]),
    [
      [500, undefined],
      [200, undefined],
    ],
  );
  assert.deepEqual(filesWith(app.dataDirectory, 'canary-confidential'), []);
});

test('answers are shown only to readers who see all that they may repeat, whoever made the subscription', async () => {
  await using consumer = await Consumer.start();
  consumer.reply = ({ text }) => saying(text);
  const made = await consuming(app, 'readers', consumer, { clearance: 'Internal' });
  await made.tenant.send({});
  await acknowledged(made);
  const shownTo = async (more: object): Promise<boolean> => {
    const key = await made.tenant.keyWith(more);
    const { data } = await made.tenant.ask<List<Delivery>>('GET', `${made.path}/deliveries`, undefined, key);
    return data[0]!.attempts[0]!.responseBody !== undefined;
  };
  const operator = { roles: ['Operator'] };
  assert.deepEqual(
    [await shownTo(operator), await shownTo({ ...operator, clearance: 'Public' })],
    [true, false],
  );
  await made.tenant.put('Access', [
    { conditions: { action: 'Delete.*' }, effect: { access: 'Deny', roles: ['Operator'] } },
  ]);
  assert.deepEqual([await shownTo(operator), await shownTo({ roles: ['Admin'] })], [false, true]);
});

const redactionOf = (eventId: string) =>
  ['POST', `/audit-events/${eventId}/redact`, { fields: ['payload.iban'], reason: 'asked for' }] as const;

test('a redaction takes along what consumers have answered, and what they answer at that moment', async () => {
  await using consumer = await Consumer.start();
  const slow: (() => void)[] = [];
  consumer.reply = ({ text }) =>
    text.includes('canary-slow') ? (response) => void slow.push(() => void response.end(text)) : saying(text);
  const made = await consuming(app, 'redacted', consumer);
  const [early] = await made.tenant.send({ payload: { iban: 'canary-early' } });
  const [delivery] = await acknowledged(made);
  assert.match(delivery!.attempts[0]!.responseBody!, /canary-early/);
  const [late] = await made.tenant.send({ payload: { iban: 'canary-slow' } });
  await until(() => slow.length === 1);
  for (const eventId of [early!, late!]) await made.tenant.ask(...redactionOf(eventId));
  slow[0]!();
  await until(async () => (await made.deliveries('?status=Acknowledged')).length === 2);
  for (const { attempts } of await made.deliveries())
    assert.deepEqual([attempts[0]!.responseStatus, attempts[0]!.responseBody], [200, undefined]);
  for (const canary of ['canary-early', 'canary-slow'])
    assert.deepEqual(filesWith(app.dataDirectory, canary), [], canary);
  const [next] = await made.tenant.send({ payload: { iban: 'kept' } });
  await until(async () => (await made.deliveries('?status=Acknowledged')).length === 3);
  assert.match((await made.deliveries())[0]!.attempts[0]!.responseBody!, new RegExp(next!));
});
