// P17 at the first request of each protocol: what it loads keeps the thread for a moment at a time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldMs, startTelling } from './held.ts';
import { KEY, type Service, temporaryFolder } from './running.ts';
import { SIZE } from './size.ts';

const PROMISED_MS = 100;
/** Of processor time, without a turn for others; a processor that is shared takes longer for the same. */
const HELD_MS_MAX = SIZE.isLong ? PROMISED_MS : 250;

const JSON_TYPE = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const ENVELOPE = `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body><EventsList xmlns="urn:tallystick:v1"/></e:Body></e:Envelope>`;

interface First {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const FIRST: Readonly<Record<string, First>> = {
  GraphQL: { path: '/graphql/v1', headers: JSON_TYPE, body: '{"query":"{ events { nodes { eventId } } }"}' },
  MCP: {
    path: '/mcp',
    headers: JSON_TYPE,
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  },
  Connect: {
    path: '/tallystick.v2.EventsService/List',
    headers: JSON_TYPE,
    body: '{}',
  },
  SOAP: { path: '/soap/v1', headers: { 'Content-Type': 'text/xml; charset=utf-8' }, body: ENVELOPE },
};

async function ask(
  service: Service,
  { path, headers, body }: First,
): Promise<[status: number, text: string]> {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'X-API-Key': KEY, 'X-Tenant-Id': 'acme' },
    body,
  });
  return [response.status, await response.text()];
}

test('the first request over each protocol does not make others wait for what it loads', async (t) => {
  using folder = temporaryFolder();
  await using service = await startTelling(folder.path);
  await heldMs(service);
  for (const [name, first] of Object.entries(FIRST)) {
    const [status, text] = await ask(service, first);
    assert.equal(status, 200, text);
    const ms = await heldMs(service);
    t.diagnostic(`${name}: held for ${ms} ms`);
    assert.ok(ms <= HELD_MS_MAX, `${name}: the thread was held for ${ms} ms`);
  }
});

test('control: what GraphQL needs, loaded in one piece, makes the others wait', async () => {
  using folder = temporaryFolder();
  await using service = await startTelling(folder.path);
  await heldMs(service);
  await ask(service, { path: '/at-once', headers: {}, body: '' });
  const ms = await heldMs(service);
  assert.ok(ms > PROMISED_MS, `the thread was held for ${ms} ms`);
});
