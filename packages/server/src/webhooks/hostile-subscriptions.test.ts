// Subscriptions that break a rule, or mean harm, through the whole service with its default settings.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ErrorBody, LIMITS, type List, type Subscription } from '@tallystick/contract';
import { WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { detailsOf, subscribed, subscribing } from '../testing/subscribing.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const askerOf = (tenant: string) => subscribing(() => app, tenant);
/** Public, and no name server is asked. */
const SUBSCRIPTION = { name: 'SIEM', url: 'https://1.1.1.1/hook', eventTypes: ['*'] };

test('a URL must be https and lead to a public address, in every notation', async () => {
  const ask = askerOf('urls');
  for (const url of [
    'http://1.1.1.1/hook',
    'ftp://1.1.1.1/hook',
    'javascript:alert(1)',
    'https://user:word@1.1.1.1/',
    'https://user@1.1.1.1/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://100.64.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://0.0.0.0/',
    'https://224.0.0.1/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[fe80::1]/',
    'https://[fd00::1]/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'not a url',
    '',
    `https://1.1.1.1/${'x'.repeat(LIMITS.urlLengthMax)}`,
    7,
  ]) {
    const told = await ask('POST', '', { ...SUBSCRIPTION, url });
    assert.equal(told.code, '422 INVALID_WEBHOOK_URL', String(url));
    assert.deepEqual(
      new Set((told.body as unknown as ErrorBody).error.details.map(({ field }) => field)),
      new Set(['url']),
    );
  }
  for (const url of [
    'https://1.1.1.1/hook',
    'https://1.1.1.1:8443/',
    'HTTPS://1.1.1.1',
    'https://[2606:4700::1111]/',
  ])
    await subscribed(ask, { ...SUBSCRIPTION, url });
});

test('a URL is judged by every operation that sets it', async () => {
  const ask = askerOf('judged');
  const { subscriptionId } = await subscribed(ask, SUBSCRIPTION);
  const url = 'https://10.0.0.1/';
  assert.equal(
    (await ask('PUT', `/${subscriptionId}`, { ...SUBSCRIPTION, url })).code,
    '422 INVALID_WEBHOOK_URL',
  );
  assert.equal((await ask('PATCH', `/${subscriptionId}`, { url })).code, '422 INVALID_WEBHOOK_URL');
  assert.equal((await ask('PATCH', `/${subscriptionId}`, { url: null })).code, '422 INVALID_WEBHOOK_URL');
  assert.equal((await ask('GET', `/${subscriptionId}`)).body.url, SUBSCRIPTION.url);
  const missing = '/01KE0000000000000000000042';
  assert.equal((await ask('PUT', missing, { ...SUBSCRIPTION, url })).code, '422 INVALID_WEBHOOK_URL');
  assert.equal((await ask('PUT', missing, SUBSCRIPTION)).code, '404 SUBSCRIPTION_NOT_FOUND');
});

test('one answer names all that is wrong, and with it the code is that of a validation', async () => {
  const told = await askerOf('all')('POST', '', {
    name: '',
    url: 'https://user@1.1.1.1/',
    eventTypes: [],
    filters: { weather: 1, 'payload.x': { gt: true } },
    headers: { Host: 'x', 'X-A': 'a\r\nb' },
    timeoutSeconds: 31,
    retry: { strategy: 'Never' },
    clearance: 'Cosmic',
    colour: 'red',
  });
  assert.equal(told.code, '422 VALIDATION_FAILED');
  for (const url of ['https://127.0.0.1/', 'https://a.internal/', 'http://a.example/']) {
    const both = await askerOf('all')('POST', '', { ...SUBSCRIPTION, name: '', url });
    const named = new Set(detailsOf(both).map((detail) => detail.split(' ')[0]));
    assert.deepEqual(named, new Set(['name', 'url']));
  }
  const fields = (told.body as unknown as ErrorBody).error.details.map(({ field }) => field);
  assert.deepEqual(fields.toSorted(), [
    'clearance',
    'colour',
    'eventTypes',
    'filters.payload.x.gt',
    'filters.weather',
    'headers.Host',
    'headers["X-A"]',
    'name',
    'retry.strategy',
    'timeoutSeconds',
    'url',
  ]);
});

const REFUSED: readonly (readonly [more: object, field: string])[] = [
  [{ name: undefined }, 'name'],
  [{ name: 'x'.repeat(201) }, 'name'],
  [{ name: 'new\nline' }, 'name'],
  [{ eventTypes: undefined }, 'eventTypes'],
  [{ eventTypes: ['Rain'] }, 'eventTypes[0]'],
  [{ eventTypes: 'AuditEventReceived' }, 'eventTypes'],
  [{ eventTypes: Array(15).fill('*') }, 'eventTypes'],
  [{ filters: [] }, 'filters'],
  [{ filters: { 'payload.x': { gt: 1, y: 2 } } }, 'filters.payload.x'],
  [{ filters: { classifications: ['Cosmic'] } }, 'filters.classifications[0]'],
  [{ filters: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`payload.x${i}`, 1])) }, 'filters'],
  [{ headers: [] }, 'headers'],
  [{ headers: { 'X-A': 7 } }, 'headers["X-A"]'],
  [{ headers: { 'X-A': null } }, 'headers["X-A"]'],
  [{ headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`X-${i}`, ''])) }, 'headers'],
  [{ headers: { 'X-A': 'x'.repeat(1025) } }, 'headers["X-A"]'],
  [{ active: 'yes' }, 'active'],
  [{ timeoutSeconds: 0 }, 'timeoutSeconds'],
  [{ timeoutSeconds: 1.5 }, 'timeoutSeconds'],
  [{ retry: { strategy: 'Exponential', initialDelay: 'PT0S' } }, 'retry.initialDelay'],
  [{ retry: {} }, 'retry.strategy'],
  [{ retryClientErrors: 0 }, 'retryClientErrors'],
  [{ ordered: 'true' }, 'ordered'],
];

for (const [more, field] of REFUSED)
  test(`refused for its field ${field}: ${JSON.stringify(more).slice(0, 60)}`, async () => {
    const told = await askerOf('refused')('POST', '', { ...SUBSCRIPTION, ...more });
    assert.equal(told.code, '422 VALIDATION_FAILED', told.text);
    assert.equal((told.body as unknown as ErrorBody).error.details[0]?.field, field);
  });

test('no error repeats what may be a credential', async () => {
  const ask = askerOf('credentials');
  const { subscriptionId } = await subscribed(ask, SUBSCRIPTION);
  const word = 's3cret-word';
  const wrong: object[] = [
    { headers: { Authorization: `Bearer ${word}${'x'.repeat(LIMITS.customHeaderLengthMax)}` } },
    { headers: { Authorization: [word] } },
    { headers: { 'X-Api-Key': `${word}\n` } },
    { headers: { Host: word } },
    ...['https://u:W@1.1.1.1/', 'https://u:W@10.0.0.1/', 'https://u:W@h:99999/', 'ftp://u:W@x/', 'u:W@x'].map(
      (url) => ({ url: url.replace('W', word) }),
    ),
    { secret: `${word} \u0001` },
  ];
  for (const more of wrong)
    for (const [method, path, body] of [
      ['POST', '', { ...SUBSCRIPTION, ...more }],
      ['PUT', `/${subscriptionId}`, { ...SUBSCRIPTION, ...more }],
      ['PATCH', `/${subscriptionId}`, more],
    ] as const) {
      const { code, text } = await ask(method, path, body);
      assert.match(code, /^422 /, `${method} ${JSON.stringify(more)}`);
      assert.ok(!text.includes(word), text);
    }
});

test('what is no subscription at all is refused, and null in an optional member is absent', async () => {
  const ask = askerOf('odd');
  for (const [body, code] of [
    ['', '400 MALFORMED_JSON'],
    ['{', '400 MALFORMED_JSON'],
    ['[]', '422 VALIDATION_FAILED'],
    ['null', '422 VALIDATION_FAILED'],
    ['"x"', '422 VALIDATION_FAILED'],
    ['{"name":"a","name":"b"}', '422 VALIDATION_FAILED'],
  ] as const)
    assert.equal((await ask('POST', '', body)).code, code, body);
  const nulls = { filters: null, headers: null, active: null, tls: null, secret: null, clearance: null };
  assert.equal((await subscribed(ask, { ...SUBSCRIPTION, ...nulls })).active, true);
  const { subscriptionId } = await subscribed(ask, {
    ...SUBSCRIPTION,
    ...(JSON.parse('{"headers":{"__proto__":"x","constructor":"y"}}') as object),
  });
  const got = await ask('GET', `/${subscriptionId}`);
  assert.deepEqual(Object.entries(got.body.headers), [
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ]);
  for (const patch of ['[]', 'null', '7', '"x"'])
    assert.equal((await ask('PATCH', `/${subscriptionId}`, patch)).code, '422 VALIDATION_FAILED', patch);
  const deep = `{"filters":${'{"payload":'.repeat(5000)}1${'}'.repeat(5000)}}`;
  assert.ok([400, 422].includes((await ask('PATCH', `/${subscriptionId}`, deep)).status));
});

test('what the conditions of all subscriptions cost has a limit', async () => {
  const ask = askerOf('costly');
  const detecting = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`payload.x${i}`, { detects: 'CardNumber' }]));
  const first = await subscribed(ask, { ...SUBSCRIPTION, filters: detecting(15) });
  const filters = detecting(6);
  const told = await ask('POST', '', { ...SUBSCRIPTION, filters });
  assert.equal(told.code, '422 VALIDATION_FAILED');
  assert.deepEqual(detailsOf(told), [
    'filters must leave at most 20 conditions with detects in the subscriptions of a tenant; there would be 21',
  ]);
  await subscribed(askerOf('frugal'), { ...SUBSCRIPTION, filters });
  assert.equal((await ask('PATCH', `/${first.subscriptionId}`, { filters: null })).code, '200');
  await subscribed(ask, { ...SUBSCRIPTION, filters });
});

test('many callers at once make and change subscriptions without a conflict', async () => {
  const ask = askerOf('crowded');
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, i) => subscribed(ask, { ...SUBSCRIPTION, name: `${i}` })),
  );
  const [{ subscriptionId } = assert.fail()] = made;
  const codes = await Promise.all(
    Array.from(
      { length: 8 },
      async (_, i) => (await ask('PATCH', `/${subscriptionId}`, { headers: { [`X-${i}`]: 'x' } })).code,
    ),
  );
  assert.deepEqual(new Set(codes), new Set(['200']));
  const { headers } = (await ask('GET', `/${subscriptionId}`)).body;
  assert.equal(Object.keys(headers).length, 8, 'none was lost');
  assert.equal((await ask<List<Subscription>>('GET')).body.pagination.total, 8);
});
