// Every answer of every protocol over HTTP has the headers that make it safe, and says which versions there are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestApp } from '../../testing/test-app.ts';

const ASKED: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/api/v1/audit-events'],
  ['GET', '/nowhere'],
  ['POST', '/graphql/v1'],
  ['POST', '/graphql/v2'],
  ['POST', '/soap/v1'],
  ['GET', '/soap/v1?wsdl'],
  ['POST', '/mcp'],
  ['GET', '/.well-known/oauth-protected-resource/mcp'],
  ['POST', '/tallystick.v1.EventsService/Get'],
  ['POST', '/tallystick.v2.EventsService/Nothing'],
  ['GET', '/openapi/v1.json'],
  ['GET', '/docs'],
];

test('every answer over HTTP is safe, and says which versions there are', async () => {
  await using app = await startTestApp();
  for (const [method, path] of ASKED) {
    const { headers, body } = await fetch(app.url + path, { method });
    await body?.cancel();
    const asked = `${method} ${path}`;
    assert.equal(headers.get('api-supported-versions'), '1.0, 2.0', asked);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', asked);
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/, asked);
    assert.notEqual(headers.get('x-correlation-id'), null, asked);
  }
});
