// The official conformance suite of MCP asks a real service. It sends no credentials and asks for things with names of its own,
// so a relay in between puts a key into each request and the name of one of our things in the place of each of those names.
// What the suite then says of an answer, it says of ours. To install it: npm ci --prefix tests/outside/clients

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import {
  type AdminCaller,
  callerOf,
  WITH_PLATFORM_KEY,
} from '../../packages/server/src/testing/admin-caller.ts';
import { EVENT } from '../../packages/server/src/testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';

const SUITE = join(
  import.meta.dirname,
  'clients/node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
const skip = existsSync(SUITE) ? false : 'the suite is not installed (npm ci --prefix tests/outside/clients)';

const PASSED = [
  'dns-rebinding-protection',
  'ping',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-list',
  'resources-list',
  'resources-read-text',
  'resources-templates-read',
  'server-initialize',
  'tools-call-error',
  'tools-call-simple-text',
  'tools-list',
];

const ASKS_NOTHING =
  'the service asks a client for nothing, neither for an answer of a model nor for one of a person';
const TEXT_ALONE = 'tools, resources and prompts answer text, and tools data beside it';
const NOTHING_UNASKED = 'the service sends nothing that was not asked for';
const STATELESS = 'there is no session, and an answer is too short to be resumed';

/** What we do not offer, and do not say that we do. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  'completion-complete':
    'values of events are searched for by a tool, which leaves notices and honours limits',
  'elicitation-sep1034-defaults': ASKS_NOTHING,
  'elicitation-sep1330-enums': ASKS_NOTHING,
  'json-schema-2020-12': 'our schemas have no $defs, which a tool of the suite is to show',
  'logging-set-level': NOTHING_UNASKED,
  'prompts-get-embedded-resource': TEXT_ALONE,
  'prompts-get-with-image': TEXT_ALONE,
  'resources-read-binary': TEXT_ALONE,
  'resources-subscribe': NOTHING_UNASKED,
  'resources-unsubscribe': NOTHING_UNASKED,
  'server-sse-multiple-streams': STATELESS,
  'server-sse-polling': STATELESS,
  'tools-call-audio': TEXT_ALONE,
  'tools-call-elicitation': ASKS_NOTHING,
  'tools-call-embedded-resource': TEXT_ALONE,
  'tools-call-image': TEXT_ALONE,
  'tools-call-mixed-content': TEXT_ALONE,
  'tools-call-sampling': ASKS_NOTHING,
  'tools-call-with-logging': NOTHING_UNASKED,
  'tools-call-with-progress': NOTHING_UNASKED,
};

/** Parameters by the name that the suite asks for. The suite wants to find the 123 of its address in the answer. */
const stoodFor = (eventId: string): Readonly<Record<string, object>> => ({
  test_simple_text: { name: 'streams_list', arguments: {} },
  test_error_handling: { name: 'events_get', arguments: { eventId: '01KE0000000000000000000042' } },
  'test://static-text': { uri: 'tallystick://reference/query' },
  'test://template/123/data': { uri: `tallystick://events/${eventId}` },
  test_simple_prompt: { name: 'investigate_actor', arguments: { actorId: 'u-1' } },
  test_prompt_with_arguments: {
    name: 'what_changed_on_resource',
    arguments: { resourceType: 'testValue1', resourceId: 'testValue2' },
  },
});

interface Params {
  readonly name?: string;
  readonly uri?: string;
}

/** Its address. Host and Origin are passed on as they come. */
async function startRelay(
  app: TestApp,
  { key }: AdminCaller,
  others: ReturnType<typeof stoodFor>,
  t: TestContext,
): Promise<string> {
  const named = (sent: Buffer): string => {
    const message = JSON.parse(sent.toString()) as { params?: Params };
    const other = others[message.params?.name ?? message.params?.uri ?? ''];
    return JSON.stringify(other === undefined ? message : { ...message, params: other });
  };
  const passOn = async (from: IncomingMessage, to: ServerResponse) => {
    const sent = await buffer(from);
    const body = sent.length === 0 ? '' : named(sent);
    const headers = {
      ...from.headers,
      'content-length': Buffer.byteLength(body),
      'x-api-key': key,
      'x-tenant-id': 'acme',
    };
    ask(`${app.url}${from.url}`, { method: from.method ?? '', headers }, (answer) => {
      to.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(to);
    }).end(body);
  };
  const relay = createServer((from, to) => void passOn(from, to));
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  t.after(() => relay.closeAllConnections());
  t.after(() => relay.close());
  return `http://127.0.0.1:${(relay.address() as AddressInfo).port}/mcp`;
}

/** The worst of each scenario's checks. */
function verdicts(folder: string): Map<string, string> {
  const WORST = ['FAILURE', 'WARNING', 'SUCCESS'];
  return new Map(
    readdirSync(folder).map((name) => {
      const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as {
        status: string;
      }[];
      const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
      return [scenario, WORST.find((status) => checks.some((check) => check.status === status)) ?? 'NONE'];
    }),
  );
}

test('the conformance suite of MCP finds fault only with what we do not offer', { skip }, async (t) => {
  await using app = await startTestApp({ ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn' });
  const caller = await callerOf(app, 'acme');
  const resource = { resourceType: 'Invoice', resourceId: '123' };
  const { text } = await caller.post('/api/v1/audit-events', { ...EVENT, resource });
  const { eventId } = JSON.parse(text) as { eventId: string };
  const url = await startRelay(app, caller, stoodFor(eventId), t);
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-conformance-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const options = ['server', '--url', url, '--suite', 'all', '--output-dir', folder];
  const suite = spawn(process.execPath, [SUITE, ...options], { stdio: 'ignore' });
  await new Promise((resolve) => suite.on('close', resolve));
  const told = verdicts(folder);
  const passed = [...told.keys()].filter((scenario) => told.get(scenario) === 'SUCCESS').toSorted();
  const others = [...told.keys()].filter((scenario) => !passed.includes(scenario)).toSorted();
  t.diagnostic(`${passed.length} of ${told.size} scenarios pass; the others ask for what is not offered`);
  assert.deepEqual(passed, PASSED);
  assert.deepEqual(others, Object.keys(NOT_OFFERED));
});
