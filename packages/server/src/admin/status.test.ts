// Status and metrics of the real service, over real HTTP, with real keys.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { asJson, type HealthReport, MetricsReport, type Role, ServiceStatus } from '@tallystick/contract';
import { createRules } from '../gateway/validate.ts';
import { type AdminCaller, adminCaller, callerOf, WITH_PLATFORM_KEY } from '../testing/admin-caller.ts';
import { EVENT } from '../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

const STATUS = '/api/v1/status';
const METRICS = '/api/v1/admin/metrics';
const statusRules = createRules(asJson(ServiceStatus));
const metricsRules = createRules(asJson(MetricsReport));

let app: TestApp;
let platform: AdminCaller;
let acme: AdminCaller;
before(async () => {
  app = await startTestApp({
    ...WITH_PLATFORM_KEY,
    ApiVersions__V1__State: 'Deprecated',
    ApiVersions__V1__DeprecationDate: '2026-06-01',
  });
  platform = adminCaller(app, 'acme');
  acme = await callerOf(app, 'acme');
});
after(() => app[Symbol.asyncDispose]());

async function statusFor(caller: AdminCaller): Promise<ServiceStatus> {
  const { code, text } = await caller.get(STATUS);
  assert.equal(code, '200');
  return JSON.parse(text) as ServiceStatus;
}

async function metricsFor(caller: AdminCaller): Promise<MetricsReport> {
  const { code, text } = await caller.get(METRICS);
  assert.equal(code, '200');
  return JSON.parse(text) as MetricsReport;
}

/** The one value of a metric with these labels. */
function valueOf(
  { metrics }: MetricsReport,
  name: string,
  labels: Record<string, string> = {},
  suffix?: string,
) {
  const samples = metrics.find((metric) => metric.name === name)?.samples ?? [];
  return samples.find(
    (sample) => sample.suffix === suffix && JSON.stringify(sample.labels) === JSON.stringify(labels),
  )?.value;
}

/** However slow the machine is. */
const PATIENCE_MS = 120_000;

/** By who sees all tenants: a tenant's own questions are among its figures. */
async function untilIndexed(): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while ((await metricsFor(platform)).indicators.projectionLagMs !== 0) {
    assert.ok(Date.now() < deadline, 'the index does not come after the log');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const namesIn = (text: string) => [...text.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]!);

test('the status has version, time, parts, figures and versions of the interface, as the contract says', async () => {
  const told = await statusFor(acme);
  assert.deepEqual(statusRules(told, ''), []);
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  assert.equal(told.version, version);
  assert.equal(told.status, 'Healthy');
  assert.match(told.commit ?? 'no working copy', /^(?:[0-9a-f]{40}|no working copy)$/);
  assert.ok(Math.abs(Date.parse(told.startedAt) - Date.now()) < PATIENCE_MS);
  assert.match(told.uptime, /^PT/);
  const { entries } = JSON.parse((await acme.get('/api/v1/health')).text) as HealthReport;
  assert.deepEqual(
    Object.keys(told.components),
    Object.keys(entries),
    'the parts are those of the health report',
  );
  assert.equal(told.components['log']?.status, 'Healthy');
  const [projection] = told.projections;
  assert.deepEqual([projection?.name, projection?.generation, projection?.rebuilding], ['events', 1, false]);
  assert.deepEqual(told.apiVersions, [
    { version: 'v1', state: 'Deprecated', deprecationDate: '2026-06-01T00:00:00.000Z' },
    { version: 'v2', state: 'Active' },
  ]);
});

test('figures are those of the work that was done', async () => {
  const caller = await callerOf(app, 'works');
  await caller.send(3);
  const batch = { events: [EVENT, EVENT, { ...EVENT, action: 'none' }] };
  assert.equal((await caller.post('/api/v1/audit-events/batch', batch)).code, '207');
  const eventId = '01KE0000000000000000000042';
  const named = { ...EVENT, eventId };
  assert.equal((await caller.post('/api/v1/audit-events', named)).code, '201');
  assert.equal((await caller.post('/api/v1/audit-events', named)).code, '200', 'a repeat');
  assert.equal((await caller.post('/api/v1/audit-events', {})).code, '422 VALIDATION_FAILED');
  assert.equal((await caller.get(`/api/v1/audit-events/${eventId}`)).code, '200');
  assert.equal(
    (await caller.get('/api/v1/audit-events/01KE0000000000000000000043')).code,
    '404 EVENT_NOT_FOUND',
  );
  await untilIndexed();
  const report = await metricsFor(caller);
  assert.deepEqual(metricsRules(report, ''), []);
  const requests = report.metrics.find(({ name }) => name === 'tallystick_requests_total')!.samples;
  assert.deepEqual(
    requests.map(({ labels, value }) => [labels['operation'], labels['status'], value]),
    [
      ['events.ingest', '2xx', 5],
      ['events.ingest', '4xx', 1],
      ['events.ingestBatch', '2xx', 1],
      ['events.get', '2xx', 1],
      ['events.get', '4xx', 1],
    ],
  );
  assert.equal(
    valueOf(report, 'tallystick_events_accepted_total'),
    6,
    'neither repeats nor what was refused',
  );
  assert.equal(valueOf(report, 'tallystick_ingest_duration_seconds', {}, '_count'), 6);
  assert.equal(valueOf(report, 'tallystick_query_duration_seconds', {}, '_count'), 1);
  const { ingestLatencyMs, queryLatencyMs, eventsAccepted, deadLetters, projectionLagMs } = report.indicators;
  assert.ok(ingestLatencyMs.p50 > 0 && ingestLatencyMs.p50 <= ingestLatencyMs.p99);
  assert.ok(queryLatencyMs.p50 > 0);
  assert.deepEqual([eventsAccepted, deadLetters, projectionLagMs], [6, 0, 0]);
  assert.deepEqual((await statusFor(caller)).metrics, { ...report.indicators }, 'the status has the same');
});

test('the standing of the log is told, and of a tenant that has not written that it is empty', async () => {
  const unknown = await metricsFor(await callerOf(app, 'empty', ['Operator']));
  // The notice of the key is an entry, too.
  const caller = await callerOf(app, 'signed');
  await caller.send(2);
  assert.equal((await caller.get('/api/v1/checkpoints/latest')).code, '200');
  let report = await metricsFor(caller);
  const deadline = Date.now() + PATIENCE_MS;
  while (valueOf(report, 'tallystick_checkpoint_entries') !== 3 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    report = await metricsFor(caller);
  }
  const standing = (told: MetricsReport) =>
    ['log_entries', 'checkpoint_entries', 'log_refused'].map((name) => valueOf(told, `tallystick_${name}`));
  assert.deepEqual(standing(report), [3, 3, 0]);
  const publishedAt = valueOf(report, 'tallystick_checkpoint_timestamp_seconds')!;
  assert.ok(Math.abs(publishedAt * 1000 - Date.now()) < PATIENCE_MS);
  assert.equal(valueOf(unknown, 'tallystick_log_entries'), 1);
  const never = await metricsFor(
    adminCaller(app, 'never-written', (await callerOf(app, '*', ['Operator'], 'acme')).key),
  );
  assert.deepEqual(standing(never), [0, 0, 0]);
  assert.equal(valueOf(never, 'tallystick_checkpoint_timestamp_seconds'), undefined);
});

test('a platform caller sees the process for every tenant it names, and a tenant never does', async () => {
  await acme.send();
  const before = await metricsFor(platform);
  await (await callerOf(app, 'another')).send(2);
  const report = await metricsFor(platform);
  const accepted = (told: MetricsReport) => valueOf(told, 'tallystick_events_accepted_total')!;
  assert.equal(accepted(report), accepted(before) + 2);
  assert.ok(valueOf(report, 'tallystick_commit_duration_seconds', {}, '_count')! >= 3);
  assert.equal(valueOf(report, 'tallystick_drafts_waiting'), 0);
  assert.equal(valueOf(report, 'tallystick_logs_refused'), 0);
  assert.ok((await statusFor(platform)).metrics.eventsAccepted! >= accepted(report));
  const names = (await metricsFor(acme)).metrics.map(({ name }) => name);
  for (const name of [
    'commit_duration_seconds',
    'drafts_waiting',
    'logs_refused',
    'request_duration_seconds',
  ]) {
    assert.ok(!names.includes(`tallystick_${name}`), name);
  }
  assert.ok(
    names.every((name) => name.startsWith('tallystick_')),
    'of the machine, too',
  );
});

test('a projection of all tenants has no position and no generation, which are of one tenant each', async () => {
  const caller = await callerOf(app, 'rebuilt');
  await caller.send();
  const { text } = await caller.post('/api/v1/admin/projections/rebuild', {});
  const { operationId } = JSON.parse(text) as { operationId: string };
  const path = `/api/v1/admin/operations/${operationId}`;
  while (!(await caller.get(path)).text.includes('"Completed"'));
  const [own] = (await statusFor(caller)).projections;
  assert.equal(own?.generation, 2);
  const told = await statusFor(adminCaller(app, 'rebuilt'));
  assert.deepEqual(statusRules(told, ''), []);
  assert.deepEqual(Object.keys(told.projections[0]!).toSorted(), ['lagMs', 'name', 'rebuilding']);
});

test('a platform key without the role Admin is told of the tenant that it names', async () => {
  const operator = adminCaller(app, 'quiet', (await callerOf(app, '*', ['Operator'], 'acme')).key);
  const { indicators, metrics } = await metricsFor(operator);
  assert.equal(indicators.eventsAccepted, 0);
  assert.ok(!metrics.some(({ name }) => name === 'tallystick_drafts_waiting'));
  assert.equal((await operator.get('/metrics')).code, '403 FORBIDDEN');
});

test('who may ask is decided by the permission, for status and metrics alike', async () => {
  const roles: [Role, string][] = [
    ['Admin', '200'],
    ['Operator', '200'],
    ['Auditor', '403 FORBIDDEN'],
    ['Viewer', '403 FORBIDDEN'],
  ];
  for (const [role, expected] of roles) {
    const caller = await callerOf(app, 'roles', [role]);
    for (const path of [STATUS, METRICS, '/api/v2/status', '/api/status', '/api/v2/admin/metrics']) {
      assert.equal((await caller.get(path)).code, expected, `${role} ${path}`);
      assert.equal((await caller.get(path, { 'X-Tenant-Id': 'acme' })).code, '403 TENANT_MISMATCH');
    }
    assert.equal((await caller.get('/metrics')).code, '403 FORBIDDEN', role);
  }
  for (const path of [STATUS, METRICS, '/metrics']) {
    assert.equal((await fetch(`${app.url}${path}`)).status, 401, path);
  }
});

test('/metrics is Prometheus text for the platform, with any Accept, and needs no tenant', async () => {
  const key = { 'X-API-Key': platform.key };
  for (const accept of [undefined, 'application/json', 'text/plain', 'application/openmetrics-text', '*/*']) {
    const answer = await fetch(`${app.url}/metrics`, {
      headers: { ...key, ...(accept === undefined ? {} : { Accept: accept }) },
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    assertPrometheus(await answer.text());
  }
});

/** What a scraper holds against the text: each line a comment or a sample, each name typed once and before its samples. */
function assertPrometheus(text: string): void {
  const sample =
    /^((?:tallystick|process|nodejs)_[a-z0-9_]+)(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? (\d+(\.\d+)?(e-?\d+)?)$/;
  const typed = new Set<string>();
  const seen = new Set<string>();
  assert.ok(text.endsWith('\n'));
  for (const line of text.slice(0, -1).split('\n')) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(line)?.[1];
    if (type !== undefined) {
      assert.ok(!typed.has(type), `${type} is typed twice`);
      typed.add(type);
    } else if (!/^# HELP \S+ \S/.test(line)) {
      const [, name] = sample.exec(line) ?? assert.fail(`no sample: ${line}`);
      assert.ok(typed.has(name!) || typed.has(name!.replace(/_(bucket|sum|count)$/, '')), line);
      const series = line.slice(0, line.lastIndexOf(' '));
      assert.ok(!seen.has(series), `${series} is there twice`);
      seen.add(series);
    }
  }
  assert.ok(seen.size > 0);
}

test('the metrics are text for callers that prefer it, with the same values, and JSON for everybody else', async () => {
  const scraper = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1';
  for (const accept of ['text/plain', 'text/plain;version=0.0.4', 'text/*', scraper]) {
    const { headers, text } = await acme.get(METRICS, { Accept: accept });
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8', accept);
    assert.match(headers.get('vary')!, /\bAccept$/);
    assertPrometheus(text);
    assert.deepEqual(
      namesIn(text),
      (await metricsFor(acme)).metrics.map(({ name }) => name),
    );
  }
  for (const accept of [
    '*/*',
    'application/json',
    'text/plain;q=0',
    'text/html',
    'nonsense',
    'text/plain;q=2',
  ]) {
    const { headers, text } = await acme.get(METRICS, { Accept: accept });
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8', accept);
    assert.deepEqual(metricsRules(JSON.parse(text), ''), []);
  }
  const { headers } = await acme.get(STATUS, { Accept: 'text/plain' });
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
});

test('unknown parameters, methods and versions are refused as everywhere', async () => {
  for (const path of [STATUS, METRICS, '/metrics']) {
    assert.equal((await platform.get(`${path}?tenantId=globex`)).code, '400 INVALID_PARAMETER', path);
    assert.equal((await platform.post(path, {})).code, '404 ROUTE_NOT_FOUND', path);
  }
  assert.equal((await acme.get(`${STATUS}?api-version=9`)).code, '400 UNSUPPORTED_API_VERSION');
  assert.equal((await acme.get(STATUS, { Accept: 'text/plain;ver=9' })).code, '400 UNSUPPORTED_API_VERSION');
  assert.equal((await acme.get('/api/v3/status')).code, '404 ROUTE_NOT_FOUND');
});

test('while commits fail it is said, and nothing is counted as accepted', async () => {
  let isBroken = false;
  const fail = () => Promise.reject(new Error('the disk is gone'));
  await using broken = await startTestApp(WITH_PLATFORM_KEY, {
    around: (log) => ({
      append: (requests, now) => (isBroken ? fail() : log.append(requests, now)),
      probe: () => (isBroken ? fail() : log.probe()),
    }),
  });
  const caller = await callerOf(broken, 'acme');
  await caller.send();
  isBroken = true;
  assert.equal((await caller.post('/api/v1/audit-events', EVENT)).code, '503 SERVICE_UNAVAILABLE');
  const report = await metricsFor(adminCaller(broken, 'acme'));
  const ingest = { operation: 'events.ingest' };
  assert.equal(valueOf(report, 'tallystick_requests_total', { ...ingest, status: '5xx' }), 1);
  assert.equal(valueOf(report, 'tallystick_events_accepted_total'), 1);
  assert.equal(valueOf(report, 'tallystick_commits_failing'), 1);
  assert.equal((await caller.get('/health/ready')).code, '503');
  const requests = (await metricsFor(adminCaller(broken, 'acme'))).metrics.find(
    ({ name }) => name === 'tallystick_requests_total',
  )!.samples;
  const ofProbe = requests.filter(({ labels }) => labels['operation'] === 'process.ready');
  assert.deepEqual(
    ofProbe.map(({ labels }) => labels['status']),
    ['2xx'],
    'a probe that says no has not failed',
  );
  const told = await statusFor(caller);
  assert.deepEqual([told.status, told.components['log']?.exception], ['Unhealthy', 'Error']);
  isBroken = false;
});

test('docs/operating/metrics.md names every metric, with its type, and no other', async () => {
  const page = readFileSync(new URL('../../../../docs/operating/metrics.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `((?:tallystick|process|nodejs)_\w+)` \| (\w+) \|/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  const reports = await Promise.all([metricsFor(platform), metricsFor(acme)]);
  const served = new Set(
    reports.flatMap(({ metrics }) => metrics.map(({ name, type }) => `${name} ${type.toLowerCase()}`)),
  );
  assert.deepEqual(rows.toSorted(), [...served].sort());
});
