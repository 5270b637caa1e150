// GraphQL over HTTP, as the audit of graphql-http understands it: every one of its demands, on both versions.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { VERSIONS } from '@tallystick/contract';
import { serverAudits } from 'graphql-http';
import { ALLOWED, believeKey } from '../../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp({}, { authenticate: believeKey });
});
after(() => app[Symbol.asyncDispose]());

for (const version of VERSIONS) {
  describe(`GraphQL over HTTP, ${version}`, () => {
    const fetchFn = (url: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(ALLOWED)) headers.set(name, value);
      return fetch(url, { ...init, headers });
    };
    for (const { id, name, fn } of serverAudits({
      url: () => `${app.url}/graphql/${version}`,
      fetchFn,
    })) {
      it(`${id} ${name}`, async () => {
        const result = await fn();
        assert.equal(result.status, 'ok', 'reason' in result ? result.reason : '');
      });
    }
  });
}
