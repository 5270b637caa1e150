import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { Span, SpanFacts } from '../../telemetry/tracing.ts';
import type { Exchange } from './mount.ts';
import { isProbe, noteAnswer } from './traced-request.ts';

test('probes and scrapes are known by their whole path, and nothing else that ends as they do', () => {
  const table: Readonly<Record<string, boolean>> = {
    '/health': true,
    '/health/live?x=1': true,
    '/api/health/ready': true,
    '/api/v1/health/startup': true,
    '/api/v2/health/': true,
    'http://audit.test/health/live': true,
    '/metrics': true,
    '/api/v1/admin/metrics': true,
    '/api/v1/audit-events/health': false,
    '/api/v1/audit-events/metrics': false,
    '/api/v1/health/other': false,
    '/x/health/live': false,
    '/docs/v1?at=/health': false,
  };
  for (const [url, expected] of Object.entries(table))
    assert.equal(isProbe({ url } as IncomingMessage), expected, url);
});

test('a request of several operations is told of by its route alone', () => {
  const told: unknown[] = [];
  const span = {
    rename: (name: string) => told.push(name),
    note: (facts: SpanFacts) => told.push(facts),
  } as Partial<Span> as Span;
  const request = { method: 'POST' } as IncomingMessage;
  noteAnswer(span, { request, served: { operation: undefined, route: '/mcp' } } as Exchange, 200);
  assert.deepEqual(told, ['POST /mcp', { 'http.response.status_code': 200, 'http.route': '/mcp' }]);
});
