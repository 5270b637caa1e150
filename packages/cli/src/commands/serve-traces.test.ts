// Traces of the real service, as a receiver gets them: what is in them, and that nothing depends on the receiver.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { type Running, serve } from '../testing/command.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../testing/otlp-receiver.ts';
import { until } from '../../../server/src/testing/until.ts';

const KEY = 'the-platform-key-of-these-tests';
const EVENT = {
  timestamp: '2026-01-02T03:04:05Z',
  actor: { actorType: 'User', userId: 'actor-of-the-test' },
  action: 'Approve.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'resource-of-the-test' },
  payload: { note: 'content-of-the-test' },
};
const HEADERS = { 'X-API-Key': KEY, 'X-Tenant-Id': 'tenant-of-the-test', 'Content-Type': 'application/json' };
const OF_SENDER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

const tracedTo = (url: string, more: Record<string, string> = {}) => ({
  env: {
    TALLYSTICK_ADMIN_KEY: KEY,
    Webhooks__AllowPrivateTargets: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret-of-the-receiver',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    ...more,
  },
});

async function post(
  { port }: { readonly port: number },
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** A consumer of webhooks that takes everything; or a receiver that never answers. */
async function startServer(t: TestContext, answers: boolean): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    if (answers) response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function stop({ child, ended }: Running): Promise<Awaited<Running['ended']>> {
  child.kill('SIGTERM');
  return ended;
}

const INGEST = 'POST /api/v1/audit-events';

const named = ({ spans }: OtlpReceiver, name: string) => spans.filter((span) => span.name === name);

test('a trace is the whole way of an event, and has no content, credential or name in it', async (t) => {
  await using receiver = await startOtlpReceiver();
  const consumer = await startServer(t, true);
  await using service = await serve(tracedTo(receiver.url));
  const subscription = { name: 'all', url: `${consumer}/of-the-test`, eventTypes: ['AuditEventReceived'] };
  assert.equal((await post(service, '/webhooks/subscriptions', subscription)).status, 201);
  const traceparent = `00-${OF_SENDER.traceId}-${OF_SENDER.spanId}-01`;
  assert.equal((await post(service, '/audit-events', EVENT, { traceparent })).status, 201);
  await assertWholeWay(receiver);
  const refused = await post(service, '/audit-events/search', { query: 'searched-for-by-the-test', sort: 1 });
  const { traceId } = refused.body['error'] as { traceId: string };
  await until(() => receiver.spans.some((span) => span.traceId === traceId));
  const search = 'POST /api/v1/audit-events/search';
  assert.equal(named(receiver, search).at(-1)?.traceId, traceId, 'as the answer names it');
  await assertSharedCommit(receiver, service);
  await assertMetrics(receiver, service);

  const unwanted = traceparent.replace(/1$/, '0');
  assert.equal((await post(service, '/audit-events', EVENT, { traceparent: unwanted })).status, 201);
  await fetch(`http://127.0.0.1:${service.port}/health/ready`);
  await fetch(`http://127.0.0.1:${service.port}/api/v1/audit-events/path-of-the-test`, { headers: HEADERS });
  const { code, stderr } = await stop(service);
  assert.equal(code, 0, stderr);
  assert.equal(
    named(receiver, 'GET /api/v1/audit-events/:eventId').length,
    1,
    'the last spans come with the stop',
  );
  const ofSender = named(receiver, INGEST).filter((span) => span.traceId === OF_SENDER.traceId);
  assert.equal(ofSender.length, 1, 'a sender may not want a trace');
  assert.ok(!receiver.spans.some(({ facts }) => String(facts['http.route']).includes('health')), 'no probes');
  assert.doesNotMatch(
    receiver.bodies.join('\n'),
    /of-the-test|of-these-tests|by-the-test|secret|127\.0\.0\.1/,
  );
});

async function assertWholeWay(receiver: OtlpReceiver): Promise<void> {
  const ofEvent = (name: string) =>
    named(receiver, name).find(({ traceId }) => traceId === OF_SENDER.traceId);
  const names = [INGEST, 'append', 'commit', 'job Delivery', 'POST'];
  await until(() => names.every((name) => ofEvent(name) !== undefined));
  const spans = names.map((name) => ofEvent(name)!);
  const [request, append, commit, job, attempt] = spans as [
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
  ];
  assert.deepEqual(
    spans.map(({ parentSpanId }) => parentSpanId),
    [OF_SENDER.spanId, request.spanId, append.spanId, append.spanId, job.spanId],
  );
  assert.deepEqual(
    spans.map(({ kind }) => kind),
    [2, 1, 1, 5, 3],
  );
  assert.deepEqual(request.facts, {
    'http.request.method': 'POST',
    'url.scheme': 'http',
    'http.response.status_code': 201,
    'http.route': '/api/v1/audit-events',
    'tallystick.operation': 'events.ingest',
  });
  assert.deepEqual(commit.facts, { 'tallystick.requests': 1, 'tallystick.drafts': 1 });
  assert.equal(job.facts['tallystick.job.outcome'], 'Done');
  assert.equal(attempt.facts['http.response.status_code'], 204);
  await until(() => named(receiver, 'turn of the notifier').length > 0);
  const { resource } = receiver;
  assert.deepEqual([resource['service.name'], resource['deployment.environment']], ['tallystick', 'test']);
}

/** The same series as at /metrics, but for summaries, and the same values where nothing happens in between. */
async function assertMetrics(receiver: OtlpReceiver, { port }: { readonly port: number }): Promise<void> {
  const scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`, { headers: HEADERS })).text();
  // The second one counts the first one.
  const text = (await scrape()) && (await scrape());
  const summaries = [...text.matchAll(/^# TYPE (\S+) summary$/gm)].map(([, name]) => name!);
  const shown = new Map(
    [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)]
      .map(([, series, value]) => [series!, Number(value)] as const)
      .filter(([series]) => !/_bucket|_seconds_sum/.test(series))
      .filter(([series]) => !summaries.some((name) => series.startsWith(name))),
  );
  const events = 'tallystick_events_accepted_total';
  await until(() => receiver.metrics.size === shown.size);
  assert.equal(receiver.metrics.get(events), shown.get(events));
  assert.deepEqual([...receiver.metrics.keys()].toSorted(), [...shown.keys()].toSorted());
  const { bodies } = receiver;
  assert.ok(
    bodies.some((body) => body.includes('"isMonotonic":true') && body.includes('"explicitBounds":[0.0005,')),
  );
}

/** Of requests that share a commit, it is under one, and linked with each of the others. */
async function assertSharedCommit(receiver: OtlpReceiver, service: { readonly port: number }): Promise<void> {
  // Until some come in together, whatever this machine is doing.
  await until(async () => {
    await Promise.all(Array.from({ length: 40 }, () => post(service, '/audit-events', EVENT)));
    return named(receiver, 'commit').some(({ links }) => links.length > 0);
  });
  const commit = named(receiver, 'commit').find(({ links }) => links.length > 0)!;
  assert.equal(commit.facts['tallystick.requests'], commit.links.length + 1);
  for (const link of commit.links) {
    await until(() => receiver.spans.some(({ spanId }) => spanId === link));
    const append = named(receiver, 'append').find(({ spanId }) => spanId === link);
    assert.deepEqual(append?.links, [commit.spanId]);
    assert.notEqual(append?.traceId, commit.traceId);
  }
}

test('a receiver that never answers costs the service nothing but the spans', async (t) => {
  const silent = await startServer(t, false);
  await using service = await serve(
    tracedTo(silent, { OTEL_BSP_MAX_QUEUE_SIZE: '20', OTEL_EXPORTER_OTLP_TIMEOUT: '500' }),
  );
  for (let i = 0; i < 30; i++) assert.equal((await post(service, '/audit-events', EVENT)).status, 201);
  const { code, stderr } = await stop(service);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /"traces could not be exported","failed":\d+,"dropped":\d+,"reason"/);
});
