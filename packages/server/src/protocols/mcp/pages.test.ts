// Large answers over MCP: pages are cut, and nothing that writes is asked twice.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { type AdminCaller, callerOf, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { callTool, postMessage } from '../../testing/mcp-caller.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let admin: AdminCaller;
before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Mcp__Tools: 'All' });
  admin = await callerOf(app, 'acme');
});
after(() => app[Symbol.asyncDispose]());

const bySender = () => ({ key: admin.key, tenant: 'acme' });

test('a batch whose answer is long is stored once, and the answer is told', async () => {
  const wrong = { ...EVENT, action: 'nonsense '.repeat(10) };
  const events = [EVENT, ...Array.from({ length: 500 }, () => wrong)];
  const args = { batch: { events }, idempotencyKey: 'long' };
  const { isError, structuredContent } = await callTool(app, 'events_ingest_batch', args, bySender());
  const { status, successCount, failureCount } = structuredContent;
  assert.ok(JSON.stringify(structuredContent).length > LIMITS.mcpResultLengthMax);
  assert.deepEqual([isError, status, successCount, failureCount], [undefined, 'PartialSuccess', 1, 500]);
});

test('null is no idempotency key', async () => {
  const args = { event: EVENT, idempotencyKey: null };
  const { structuredContent } = await callTool(app, 'events_ingest', args, bySender());
  assert.equal(structuredContent['status'], 'Accepted');
});

test('a resource that is a page is no larger than a model can read, too', async () => {
  const event = { ...EVENT, payload: { text: 'x'.repeat(30_000) } };
  for (let i = 0; i < 6; i++) await admin.post('/api/v1/audit-events', event);
  const read = async (uri: string) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } };
    const { answer } = await postMessage(app, message, bySender());
    const [content] = answer.result!['contents'] as [{ text: string }];
    assert.ok(content.text.length <= LIMITS.mcpResultLengthMax, `${content.text.length} characters`);
    return JSON.parse(content.text) as { data: { streamId: string; sequence: number }[] };
  };
  const [stream] = (await read('tallystick://streams')).data;
  const seen: number[] = [];
  for (let last = 0; last < 8; last = seen.at(-1)!) {
    const uri = `tallystick://streams/${stream!.streamId}/events?fromSequence=${last + 1}`;
    seen.push(...(await read(uri)).data.map(({ sequence }) => sequence));
  }
  assert.deepEqual(seen.slice(0, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
});
