// Secrets of subscriptions, through the whole service: they are shown once, stored sealed alone, and open for those who send.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Erasure, RotatedSecret, Subscription } from '@tallystick/contract';
import { loadConfig } from '../config/config.ts';
import { rotateData } from '../operate/rotate-data.ts';
import { PLATFORM_KEY } from '../testing/admin-caller.ts';
import { ask as askOf, type Told } from '../testing/ask.ts';
import { DELIVERING, startDelivering } from '../testing/delivering-app.ts';
import { filesWith } from '../testing/redacting.ts';
import { CERTIFICATE, KEY } from '../testing/self-signed.ts';
import {
  detailsOf,
  storedSubscription,
  subscribed,
  subscribing,
  SUBSCRIPTION,
} from '../testing/subscribing.ts';
import { until } from '../testing/until.ts';

const app = startDelivering({
  ...DELIVERING,
  // Secrets are sealed nevertheless.
  Encryption__Classifications: 'None',
});

const askerOf = (tenant: string) => subscribing(() => app, tenant);
const stored = (tenant: string, { subscriptionId }: Pick<Subscription, 'subscriptionId'>) =>
  storedSubscription(app, tenant, subscriptionId);

test('no secret is in any file, answer or diagnostic line, and who sends has all of them', async () => {
  const ask = askerOf('sealed');
  const made = await subscribed(ask, {
    secret: 'canary-of-the-secret',
    headers: { Authorization: 'Bearer canary-of-a-header', 'X-Team': 'security' },
    tls: { certificate: CERTIFICATE, key: KEY },
  });
  const path = `/${made.subscriptionId}`;
  const { opened } = await stored('sealed', made);
  assert.deepEqual(opened, {
    secret: 'canary-of-the-secret',
    previousSecret: undefined,
    headers: { Authorization: 'Bearer canary-of-a-header', 'X-Team': 'security' },
    clientKey: KEY,
  });
  const texts: string[] = [];
  for (const [method, where, body] of [
    ['GET', '', undefined],
    ['GET', path, undefined],
    ['PUT', path, { ...made, secret: undefined }],
    ['PATCH', path, { name: 'x' }],
    ['POST', `${path}/pause`, undefined],
  ] as const) {
    const { status, text } = await ask(method, where, body);
    assert.equal(status, 200, text);
    texts.push(text);
  }
  const keyBytes = KEY.split('\n')[2]!;
  for (const canary of ['canary-of-the-secret', 'canary-of-a-header', keyBytes]) {
    assert.deepEqual(filesWith(app.dataDirectory, canary), [], canary);
    assert.ok(!texts.join().includes(canary) && !JSON.stringify(app.lines).includes(canary), canary);
  }
  assert.deepEqual((await stored('sealed', made)).opened, opened, 'all changes have kept them');
});

test('a credential is shown masked, and the mask sent back keeps it', async () => {
  const ask = askerOf('masked');
  const made = await subscribed(ask, {
    headers: { Authorization: 'Bearer a', 'X-Api-Key': 'b', Accept: 'c' },
  });
  assert.deepEqual(made.headers, { Authorization: '[REDACTED]', 'X-Api-Key': '[REDACTED]', Accept: 'c' });
  const put = (headers: object) => ask('PUT', `/${made.subscriptionId}`, { ...SUBSCRIPTION, headers });
  assert.equal((await put({ authorization: '[REDACTED]', 'X-Api-Key': 'new' })).code, '200');
  const { opened } = await stored('masked', made);
  assert.deepEqual(opened.headers, { authorization: 'Bearer a', 'X-Api-Key': 'new' });
  const unknown = await put({ 'X-Other': '[REDACTED]' });
  assert.equal(unknown.code, '422 VALIDATION_FAILED');
  assert.deepEqual(detailsOf(unknown), ['headers["X-Other"] has no value that [REDACTED] could keep']);
  assert.equal((await put({})).code, '200');
  assert.deepEqual((await stored('masked', made)).opened.headers, {});
});

test('PUT without a secret keeps it, one with another replaces it at once', async () => {
  const ask = askerOf('kept');
  const made = await subscribed(ask);
  const put = (more: object) => ask('PUT', `/${made.subscriptionId}`, { ...SUBSCRIPTION, ...more });
  const told = await put({});
  assert.ok(!('secret' in told.body));
  assert.equal((await stored('kept', made)).opened.secret, made.secret);
  await ask('POST', `/${made.subscriptionId}/rotate-secret`);
  await put({ secret: 'mine' });
  const { opened } = await stored('kept', made);
  assert.deepEqual([opened.secret, opened.previousSecret], ['mine', undefined]);
  await ask('PATCH', `/${made.subscriptionId}`, { secret: 'yours' });
  assert.equal((await stored('kept', made)).opened.secret, 'yours');
});

test('after a rotation the secret before it signs, too, until its time is over', async () => {
  const ask = askerOf('overlapping');
  const made = await subscribed(ask);
  const rotate = async (gracePeriod: string) => {
    const told = await ask<RotatedSecret>('POST', `/${made.subscriptionId}/rotate-secret`, { gracePeriod });
    assert.equal(told.code, '200');
    return told.body;
  };
  const one = await rotate('PT1H');
  const after = (await stored('overlapping', made)).opened;
  const untilMs = Date.parse(one.previousSecretExpiresAt);
  assert.deepEqual([after.secret, after.previousSecret], [one.secret, { secret: made.secret, untilMs }]);
  const two = await rotate('P1D');
  const { previousSecret } = (await stored('overlapping', made)).opened;
  assert.equal(previousSecret?.secret, one.secret);
  const three = await rotate('PT0S');
  const last = (await stored('overlapping', made)).opened;
  assert.deepEqual([last.secret, last.previousSecret], [three.secret, undefined]);
  assert.equal(new Set([made.secret, one.secret, two.secret, three.secret]).size, 4);
});

test('a bad secret is refused, and not repeated in the answer', async () => {
  const ask = askerOf('refused');
  for (const secret of ['', 'with space', 'new\nline', 'x'.repeat(257), 'Zürich', 7]) {
    const told = await ask('POST', '', { ...SUBSCRIPTION, secret });
    assert.equal(told.code, '422 VALIDATION_FAILED', JSON.stringify(secret));
    assert.ok(secret === '' || secret === 7 || !told.text.includes(String(secret).slice(0, 50)));
  }
  const twice = await ask('POST', '', { ...SUBSCRIPTION, secret: 'hunter2', headers: { Host: 'hunter2' } });
  assert.ok(!twice.text.includes('hunter2'));
});

test('certificates are shown, the key is not, and it is kept with its certificate', async () => {
  const ask = askerOf('certified');
  const tls = { ca: CERTIFICATE, certificate: CERTIFICATE };
  const made = await subscribed(ask, { tls: { ...tls, key: KEY } });
  assert.deepEqual(made.tls, tls);
  const patch = (body: object) => ask('PATCH', `/${made.subscriptionId}`, body);
  const keyOf = async () => (await stored('certified', made)).opened.clientKey;
  assert.equal((await ask('PUT', `/${made.subscriptionId}`, { ...SUBSCRIPTION, tls })).code, '200');
  assert.deepEqual((await patch({ tls: { ca: null } })).body.tls, { certificate: CERTIFICATE });
  assert.equal(await keyOf(), KEY);
  const other = await patch({ tls: { certificate: `${CERTIFICATE}\n` } });
  assert.deepEqual(detailsOf(other), ['tls.key must be given with a new certificate']);
  assert.deepEqual(detailsOf(await patch({ tls: { key: 'x' } })), ['tls.key is no private key in PEM']);
  assert.equal((await patch({ tls: { key: KEY } })).code, '200');
  assert.ok(!('tls' in (await patch({ tls: null })).body));
  assert.equal(await keyOf(), undefined);
});

const WRONG: Readonly<Record<string, readonly [tls: object, issue: RegExp]>> = {
  'a key without a certificate': [{ key: KEY }, /^tls\.certificate must be given with a key$/],
  'a certificate without a key': [{ certificate: CERTIFICATE }, /^tls\.key must be given/],
  'authorities that are none': [{ ca: 'x' }, /^tls\.ca has no certificate in PEM$/],
  'authorities in broken PEM': [
    { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
    /^tls\.ca has a certificate that cannot be read$/,
  ],
  'a certificate in place of a key': [
    { certificate: CERTIFICATE, key: CERTIFICATE },
    /^tls\.key has a certificate in it/,
  ],
  'an unknown member': [{ pfx: 'x' }, /^tls\.pfx /],
  'too long a text': [{ ca: 'x'.repeat(32_769) }, /^tls\.ca must be 1 to 32768 characters/],
};

for (const [what, [tls, issue]] of Object.entries(WRONG))
  test(`certificates are refused: ${what}`, async () => {
    const told = await askerOf('wrong')('POST', '', { ...SUBSCRIPTION, tls });
    assert.equal(told.code, '422 VALIDATION_FAILED');
    assert.match(detailsOf(told).join(), issue);
    assert.ok(!told.text.includes(KEY.split('\n')[2]!));
  });

test('a rotation of the keys, and an erasure of the content of the tenant, leave all secrets', async () => {
  const ask = askerOf('outlived');
  const made = await subscribed(ask, { headers: { Authorization: 'Bearer a' } });
  const variables = { Storage__DataDirectory: app.dataDirectory };
  const { config } = loadConfig({ variables, workingDirectory: app.dataDirectory });
  await rotateData(config, 1200);
  const erase = (method: string, path: string, body?: object): Promise<Told<Erasure>> =>
    askOf(app, method, `/api/v1/erasures${path}`, { key: PLATFORM_KEY, tenant: 'outlived', body });
  const { erasureId } = (await erase('POST', '', { tenantId: 'outlived', reason: 'r' })).body;
  await until(async () => (await erase('GET', `/${erasureId}`)).body.status === 'Completed');

  const { opened } = await stored('outlived', made);
  assert.deepEqual([opened.secret, opened.headers], [made.secret, { Authorization: 'Bearer a' }]);
  const headers = { Authorization: '[REDACTED]', 'X-Token': 'new' };
  assert.equal((await ask('PATCH', `/${made.subscriptionId}`, { headers })).code, '200');
  assert.deepEqual((await stored('outlived', made)).opened.headers, {
    Authorization: 'Bearer a',
    'X-Token': 'new',
  });
});
