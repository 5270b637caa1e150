// MCP over real HTTP: the frame around tools, resources and prompts. What operations answer is told in tests/protocols.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type AdminCaller, adminCaller, callerOf, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { callTool, postMessage } from '../../testing/mcp-caller.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { until } from '../../testing/until.ts';

const run = promisify(execFile);

let app: TestApp;
let admin: AdminCaller;
let viewer: AdminCaller;
before(async () => {
  app = await startTestApp(WITH_PLATFORM_KEY);
  admin = await callerOf(app, 'acme');
  viewer = await callerOf(app, 'acme', ['Viewer']);
});
after(() => app[Symbol.asyncDispose]());

const post = (body: unknown, headers: Record<string, string> = {}, key: string | undefined = admin.key) =>
  postMessage(app, body, { tenant: 'acme', headers, ...(key !== '' && { key }) });

const ask = (method: string, params: object = {}, caller = admin) =>
  post({ jsonrpc: '2.0', id: 1, method, params }, {}, caller.key);

const call = (name: string, args: object = {}, { key } = admin) =>
  callTool(app, name, args, { key, tenant: 'acme' });

async function sent(more: object = {}): Promise<string> {
  const { text } = await admin.post('/api/v1/audit-events', { ...EVENT, ...more });
  return (JSON.parse(text) as { eventId: string }).eventId;
}

test('the official client lists, calls and reads what REST shows, by the newest revision and by older ones', async () => {
  const eventId = await sent();
  const script = fileURLToPath(new URL('../../testing/mcp-client.js', import.meta.url));
  const { stdout } = await run(process.execPath, [script, `${app.url}/mcp`, admin.key, 'acme', eventId]);
  const told = JSON.parse(stdout) as Record<string, Record<string, unknown>>;
  const { text } = await admin.get(`/api/v2/audit-events/${eventId}`);
  assert.deepEqual(Object.keys(told), ['auto', 'legacy']);
  for (const { tools, structuredContent, content, message } of Object.values(told)) {
    assert.ok(Number(tools) > 30);
    assert.deepEqual(structuredContent, JSON.parse(text));
    assert.deepEqual(JSON.parse(String(content)), structuredContent);
    assert.match(String(message), /- actorId: "u-1"/);
  }
  assert.equal(told['auto']!['revision'], '2026-07-28');
});

test('each caller is shown the tools that it may call, within the settings', async () => {
  const namesFor = async (caller: AdminCaller) => {
    const { answer } = await ask('tools/list', {}, caller);
    return (answer.result as { tools: { name: string }[] }).tools.map(({ name }) => name);
  };
  const [all, few] = [await namesFor(admin), await namesFor(viewer)];
  assert.deepEqual([all.includes('policies_list'), few.includes('policies_list')], [true, false]);
  assert.ok(few.includes('events_search') && few.every((name) => all.includes(name)));
  assert.ok(!all.includes('events_ingest'), 'tools that write are for Mcp__Tools=All');
  const hidden = await call('events_ingest', { event: EVENT });
  const unknown = await call('events_invent', { event: EVENT });
  assert.deepEqual(
    [hidden.error?.code, hidden.error?.message.replace('ingest', 'invent')],
    [unknown.error?.code, unknown.error?.message],
  );
});

test('what is no message of a known caller is refused in the form of JSON-RPC, and as REST refuses it', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const metadata = `Bearer resource_metadata="${app.url}/.well-known/oauth-protected-resource/mcp"`;
  const nested = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
  const table: [
    status: number,
    code: number,
    body: unknown,
    headers?: Record<string, string>,
    key?: string,
  ][] = [
    [401, -31_001, ping, {}, ''],
    [401, -31_001, ping, {}, 'unknown'],
    [403, -31_001, ping, { Origin: 'https://elsewhere.example' }],
    [403, -31_001, ping, { Origin: 'null' }],
    [400, -32_700, '{"jsonrpc"'],
    [400, -32_700, ''],
    [422, -32_600, [ping, ping]],
    [422, -32_600, '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}'],
    [422, -32_600, nested],
    [400, -32_600, ping, { 'Content-Type': 'text/plain' }],
    [400, -31_001, ping, { 'X-Correlation-Id': 'a b' }],
  ];
  for (const [status, code, body, headers, key] of table) {
    const refused = await post(body, headers, key);
    const what = `${JSON.stringify(body).slice(0, 80)} ${JSON.stringify(headers)}`;
    assert.deepEqual([refused.status, refused.answer.error?.code], [status, code], what);
    if (status === 401) assert.equal(refused.headers.get('WWW-Authenticate'), metadata);
  }
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const { status, headers } = await fetch(`${app.url}/mcp`, { method });
    assert.deepEqual([status, headers.get('Allow')], [405, 'POST'], method);
  }
  assert.equal((await post(ping)).status, 200);
});

test('nothing is kept between messages, and there is nothing to subscribe to', async () => {
  const { answer } = await ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'a test', version: '1' },
  });
  const { protocolVersion, capabilities } = answer.result as Record<string, unknown>;
  assert.deepEqual(
    [protocolVersion, capabilities],
    ['2025-11-25', { tools: {}, resources: {}, prompts: {} }],
  );
  const listening = { notifications: { toolsListChanged: true } };
  const listen = await post(
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        ...listening,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'subscriptions/listen' },
  );
  assert.ok(listen.answer.error !== undefined, 'no answer lasts');
  for (const method of ['resources/subscribe', 'logging/setLevel', 'completion/complete', 'nothing'])
    assert.equal((await ask(method, {})).answer.error?.code, -32_601, method);
});

test('an event that is not there and one that may not be seen are told alike, by tool and by resource', async () => {
  const secret = await sent({ classification: 'Secret' });
  const unknown = '01KE0000000000000000000042';
  const told = async (eventId: string) => {
    const byTool = await call('events_get', { eventId }, viewer);
    const byResource = await ask('resources/read', { uri: `tallystick://events/${eventId}` }, viewer);
    return JSON.stringify([byTool.content, byTool.isError, byResource.answer.error]).replaceAll(
      eventId,
      'ID',
    );
  };
  assert.equal(await told(secret), await told(unknown));
  assert.match(await told(unknown), /EVENT_NOT_FOUND/);
});

test('to read a Secret event leaves the same notice as over REST, by tool and by resource', async () => {
  const eventId = await sent({ classification: 'Secret' });
  const notices = async () => {
    const { text } = await admin.get('/api/v2/audit-events?kind=Notice&limit=1000&sort=timestamp');
    const { data } = JSON.parse(text) as { data: { action: string; resource: unknown; payload: object }[] };
    return data.filter((each) => JSON.stringify(each).includes(eventId));
  };
  await admin.get(`/api/v2/audit-events/${eventId}`);
  await until(async () => (await notices()).length === 1);
  await call('events_get', { eventId });
  await ask('resources/read', { uri: `tallystick://events/${eventId}` });
  await until(async () => (await notices()).length === 3);
  const acts = (await notices()).map(({ action, resource, payload }) => ({
    action,
    resource,
    payload: { ...payload, requestId: '' },
  }));
  for (const act of acts) assert.deepEqual(act, acts[0]);
});

test('an event is verified by the proof that the service gives of it', async () => {
  const eventId = await sent();
  const { structuredContent } = await call('events_verify', { eventId });
  const { verified, checkedBy, origin, treeSize } = structuredContent;
  assert.deepEqual(
    [verified, checkedBy, typeof origin, Number(treeSize) > 0],
    [true, 'service', 'string', true],
  );
  const unknown = await call('events_verify', { eventId: '01KE0000000000000000000042' });
  assert.match(unknown.content[0]!.text, /^EVENT_NOT_FOUND/);
});

test('events are counted without one being shown', async () => {
  await sent({ action: 'Count.Me' });
  await sent({ action: 'Count.Me' });
  await until(async () => {
    const counted = await call('events_statistics', { filters: { actions: ['Count.*'] }, by: ['byAction'] });
    const { totalCount, aggregations, ...others } = counted.structuredContent;
    if (totalCount !== 2) return false;
    assert.deepEqual(aggregations, { byAction: [{ key: 'Count.Me', count: 2 }] });
    assert.deepEqual(Object.keys(others).toSorted(), ['aggregationsRelation', 'totalCountRelation']);
    return true;
  });
  const wrong = await call('events_statistics', { by: ['byMoon'] });
  assert.equal(wrong.content[0]!.text.split('\n').length, 1, 'what is wrong is said once');
  assert.match(wrong.content[0]!.text, /^VALIDATION_FAILED/);
  assert.match((await call('events_statistics', {})).content[0]!.text, /^VALIDATION_FAILED: by must name/);
});

test('a page is no larger than a model can read, and the next one goes on where it ends', async () => {
  const payload = { text: 'x'.repeat(30_000) };
  const ids = [];
  for (let i = 0; i < 8; i++) ids.push(await sent({ action: 'Large.Event', payload }));
  await until(async () => {
    const { structuredContent } = await call('events_statistics', {
      filters: { actions: ['Large.Event'] },
      by: ['byAction'],
    });
    return structuredContent['totalCount'] === 8;
  });
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const args = { action: ['Large.Event'], ...(cursor !== undefined && { cursor }) };
    const { structuredContent, content } = await call('events_list', args);
    const { data, pagination } = structuredContent as {
      data: { eventId: string }[];
      pagination: { cursor: string | null };
    };
    assert.ok(content[0]!.text.length <= 100_000 && data.length > 0);
    seen.push(...data.map(({ eventId }) => eventId));
    cursor = pagination.cursor ?? undefined;
  } while (cursor !== undefined);
  assert.deepEqual(seen.toSorted(), ids.toSorted());
});

test('rules of JSON that arguments break are named by their place in the input', async () => {
  const { answer } = await post(
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"policies_validate","arguments":{"policy":{"name":"a","name":"b","policyType":"Retention"}}}}',
  );
  const { structuredContent } = answer.result as {
    structuredContent: { error: { code: string; details: { field: string }[] } };
  };
  assert.deepEqual(
    [structuredContent.error.code, structuredContent.error.details.map(({ field }) => field)],
    ['VALIDATION_FAILED', ['name']],
  );
});

test('the resource says which scopes there are, and names no server where the service issues its own tokens', async () => {
  for (const path of ['', '/mcp']) {
    const response = await fetch(`${app.url}/.well-known/oauth-protected-resource${path}`);
    const metadata = (await response.json()) as Record<string, unknown>;
    assert.equal(response.status, 200);
    assert.equal(metadata['resource'], `${app.url}/mcp`);
    assert.ok((metadata['scopes_supported'] as string[]).includes('audit:read'));
    assert.equal(metadata['authorization_servers'], undefined);
  }
  const { status } = await fetch(`${app.url}/.well-known/oauth-protected-resource/other`);
  assert.equal(status, 404);
});

test('who the caller is, and the references, can be read as resources', async () => {
  const { answer } = await ask('resources/list', {});
  const { resources } = answer.result as { resources: { uri: string }[] };
  for (const { uri } of resources) {
    const read = await ask('resources/read', { uri });
    const [content] = (read.answer.result as { contents: { text: string }[] }).contents;
    assert.ok(content!.text.length > 2, uri);
  }
  const me = await ask('resources/read', { uri: 'tallystick://me' }, viewer);
  const [content] = (me.answer.result as { contents: { text: string }[] }).contents;
  const { roles, clearance, tenant } = JSON.parse(content!.text) as Record<string, unknown>;
  assert.deepEqual([roles, clearance, tenant], [['Viewer'], 'Internal', 'acme']);
  for (const uri of ['tallystick://events/../me', 'file:///etc/passwd', `tallystick://${'x'.repeat(2000)}`])
    assert.equal((await ask('resources/read', { uri })).answer.error?.code, -32_602, uri.slice(0, 60));
  assert.ok(adminCaller(app, 'acme').key.length > 0);
});
