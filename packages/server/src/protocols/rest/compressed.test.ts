// Which answers are compressed, over real HTTP: docs/decisions/0028.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { ask } from '../../testing/ask.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
});
after(() => app[Symbol.asyncDispose]());

const LONG = 'x'.repeat(2000);

function asking(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  return ask(app, method, path, {
    key: PLATFORM_KEY,
    tenant: 'acme',
    headers: { 'Accept-Encoding': 'gzip', ...headers },
    ...(body !== undefined && { body }),
  });
}

type Asked = readonly [method: string, path: string, body?: unknown];

/** The coding of an answer that is long enough for one. */
async function codingOf([method, path, body]: Asked): Promise<string | null> {
  const { text, headers, code } = await asking(method, path, body);
  assert.ok(text.length > 1024, `${method} ${path} was answered ${code} ${text}`);
  assert.match(headers.get('vary') ?? '', /\bAccept-Encoding\b/);
  return headers.get('content-encoding');
}

async function send(action: string, classification: string): Promise<string> {
  const event = { ...EVENT, action, classification, payload: { text: LONG } };
  const { headers, code } = await asking('POST', '/api/v1/audit-events', event);
  assert.equal(code, '201');
  return headers.get('location') ?? '';
}

test('events are compressed up to Internal; beside one that is Confidential or Secret nothing is', async () => {
  const open = await send('Open.Case', 'Internal');
  const paths = (location: string, action: string): Asked[] => [
    ['GET', location],
    ['GET', `${location}/proof`],
    ['GET', location.replace('/v1/', '/v2/') + '?includeRelatedEntities=true'],
    ['GET', `/api/v1/audit-events?action=${action}`],
    ['POST', '/api/v1/audit-events/search', { filters: { actions: [action] } }],
  ];
  const streams = await asking('GET', '/api/v1/event-streams?status=Open');
  const [{ streamId }] = (streams.body as { data: [{ streamId: string }] }).data;
  const stream = `/api/v1/event-streams/${streamId}/events`;
  for (const each of [...paths(open, 'Open.*'), ['GET', stream] as const])
    assert.equal(await codingOf(each), 'gzip', each[1]);

  const guarded = await send('Close.Case', 'Confidential');
  // The list has both events.
  for (const each of [...paths(guarded, 'Open.*,Close.*').slice(0, 4), ['GET', stream] as const])
    assert.equal(await codingOf(each), null, each[1]);
  const search = { filters: { actions: ['Open.*', 'Close.*'] } };
  assert.equal(await codingOf(['POST', '/api/v1/audit-events/search', search]), null);
  assert.equal(await codingOf(['GET', open]), 'gzip', 'the other one by itself still is');
  const related = `${open.replace('/v1/', '/v2/')}?includeRelatedEntities=true`;
  assert.equal(await codingOf(['GET', related]), null, 'it names the guarded one');
});

test('a search that counts events which may be Confidential is not compressed, whatever its page shows', async () => {
  await send('Count.Case', 'Internal');
  const counting = (filters: object): Asked => [
    'POST',
    '/api/v1/audit-events/search',
    { filters: { actions: ['Count.*'], ...filters }, aggregations: ['byActor'] },
  ];
  assert.equal(await codingOf(counting({})), null);
  assert.equal(await codingOf(counting({ classifications: ['Internal', 'Secret'] })), null);
  assert.equal(await codingOf(counting({ classifications: ['Public', 'Internal'] })), 'gzip');
});

test('signed links and errors go out as they are, other lists compressed', async () => {
  for (let i = 0; i < 3; i++) {
    const { code } = await asking('POST', '/api/v1/exports', { name: `${i}${LONG.slice(0, 100)}` });
    assert.equal(code, '202');
  }
  assert.equal(await codingOf(['GET', '/api/v1/exports']), null);
  assert.equal(await codingOf(['GET', '/api/v1/policies/templates']), 'gzip');
  const wrong = { ...EVENT, ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`unknown${i}`, 1])) };
  assert.equal(await codingOf(['POST', '/api/v1/audit-events', wrong]), null);
});

test('what is asked for without a version depends on the headers that may name one', async () => {
  const path = '/api/audit-events';
  const { headers } = await asking('GET', path, undefined, { 'X-Version': '2' });
  assert.match(headers.get('vary') ?? '', /, Accept, X-Version$/);
  assert.doesNotMatch((await asking('GET', '/api/v1/audit-events')).headers.get('vary') ?? '', /X-Version/);
});
