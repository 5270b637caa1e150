import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { isProbe } from './traced-request.ts';

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
