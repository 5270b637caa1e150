// The page of GraphiQL over real HTTP; tests/outside/graphiql.test.ts uses it in a browser.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp();
});
after(() => app[Symbol.asyncDispose]());

/** As browsers name it. */
const PAGE = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

function get(path: string, accept: string, method = 'GET'): Promise<Response> {
  return fetch(app.url + path, { method, headers: { Accept: accept } });
}

test('a browser gets a page without a credential, with nothing from elsewhere and no script in it', async () => {
  for (const version of ['v1', 'v2']) {
    const answer = await get(`/graphql/${version}`, PAGE);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    // Two of them would both hold, and nothing would run.
    assert.equal(
      answer.headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    assert.match(answer.headers.get('vary') ?? '', /\bAccept$/);
    const page = await answer.text();
    assert.ok(page.includes(`data-endpoint="/graphql/${version}"`));
    assert.ok(!/<script>|\son\w+=|https?:/.test(page));
    const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
    const assets = addresses.filter((each) => each !== 'data:,');
    assert.equal(assets.length, 5);
    for (const address of assets) {
      const found = await get(address, '*/*');
      assert.equal(found.status, 200, address);
      assert.match(
        found.headers.get('content-type') ?? '',
        address.endsWith('.css') ? /^text\/css/ : /script/,
      );
      assert.equal(found.headers.get('x-content-type-options'), 'nosniff');
      await found.body?.cancel();
    }
  }
  const head = await get('/graphql/v1', PAGE, 'HEAD');
  assert.deepEqual([head.status, await head.text()], [200, '']);
});

test('programs get no page, and neither does a request that asks something', async () => {
  for (const [path, accept, method] of [
    ['/graphql/v2', '*/*', 'GET'],
    ['/graphql/v2', 'application/json, text/html;q=0.9', 'GET'],
    ['/graphql/v2?query=%7B__typename%7D', PAGE, 'GET'],
    ['/graphql/v2', PAGE, 'POST'],
  ] as const) {
    const answer = await get(path, accept, method);
    assert.equal(answer.status, 401, `${method} ${path} ${accept}`);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(answer.headers.get('content-security-policy'), "default-src 'none'");
    await answer.body?.cancel();
  }
});

test('below the assets nothing else is served', async () => {
  for (const path of [
    '/graphql/assets',
    '/graphql/assets/',
    '/graphql/assets/..%2fmount.ts',
    '/graphql/v2/x',
  ]) {
    const answer = await get(path, PAGE);
    assert.equal(answer.status, 404, path);
    await answer.body?.cancel();
  }
});
