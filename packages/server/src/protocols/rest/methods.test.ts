// HEAD and OPTIONS on every route of the contract, over real HTTP.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { operationsIn, VERSIONS } from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

const CONSOLE = 'https://console.example';
const ULID = '01KE0000000000000000000042';

let app: TestApp;
before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Server__CorsOrigins: CONSOLE });
});
after(() => app[Symbol.asyncDispose]());

/** The paths that are served, filled in, and the methods of each. */
const routes = new Map<string, Set<string>>();
for (const version of VERSIONS) {
  for (const { rest } of operationsIn(version)) {
    const path = (rest.atRoot === true ? '' : `/api/${version}`) + rest.path.replaceAll(/\{\w+\+?\}/g, ULID);
    routes.set(path, (routes.get(path) ?? new Set()).add(rest.method));
  }
}

async function asking(method: string, path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(app.url + path, {
    method,
    headers: { 'X-API-Key': PLATFORM_KEY, 'X-Tenant-Id': 'acme', 'Accept-Encoding': 'identity', ...headers },
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

test('HEAD is answered with the status and the headers of GET, and is not there where GET is not', async () => {
  assert.ok(routes.size > 100, `${routes.size} paths are served`);
  for (const [path, methods] of routes) {
    const head = await asking('HEAD', path);
    assert.equal(head.text, '', path);
    if (!methods.has('GET')) {
      // Another path with a placeholder may take it: `/policies/{policyId}` reads `/policies/validate`.
      assert.equal(head.status, 404, path);
      continue;
    }
    const get = await asking('GET', path);
    assert.equal(head.status, get.status, path);
    assert.deepEqual(namesOf(head.headers), namesOf(get.headers), path);
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'), path);
  }
});

/** Without those of the connection, which the client of these tests ends after a HEAD. */
function namesOf(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => name !== 'connection' && name !== 'keep-alive');
}

test('OPTIONS is not there, but for pages of an origin that is allowed, and then for each method', async () => {
  for (const [path, methods] of routes) {
    for (const headers of [{}, { Origin: 'https://other.example', 'Access-Control-Request-Method': 'GET' }]) {
      const refused = await asking('OPTIONS', path, headers);
      assert.equal(refused.status, 404, path);
      assert.match(refused.text, /"ROUTE_NOT_FOUND"/);
      assert.equal(refused.headers.get('access-control-allow-origin'), null, path);
    }
    for (const method of methods) {
      const asked = { Origin: CONSOLE, 'Access-Control-Request-Method': method };
      const { status, text, headers } = await asking('OPTIONS', path, asked);
      assert.deepEqual([status, text], [204, ''], path);
      assert.equal(headers.get('access-control-allow-origin'), CONSOLE);
      assert.ok(
        headers.get('access-control-allow-methods')?.split(', ').includes(method),
        `${method} ${path}`,
      );
      assert.match(headers.get('vary') ?? '', /\bOrigin\b/);
    }
  }
});
