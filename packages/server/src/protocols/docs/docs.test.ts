// The description of the interface over real HTTP.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { get } from 'node:http';
import { OPERATIONS } from '@tallystick/contract';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
before(async () => {
  app = await startTestApp();
});
after(() => app[Symbol.asyncDispose]());

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, object>>;
}

test('both versions are described, and every operation of the service is there', async () => {
  for (const version of ['v1', 'v2']) {
    const answer = await fetch(`${app.url}/openapi/${version}.json`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    const document = (await answer.json()) as Document;
    assert.equal(document.openapi, '3.0.3');
    assert.ok(document.info.version.startsWith(version.slice(1)));
    const count = Object.values(document.paths).flatMap((item) => Object.keys(item)).length;
    assert.equal(count, OPERATIONS.length);
    assert.ok(`/api/${version}/audit-events` in document.paths);
  }
});

test('the pages show the version that their address names, with nothing from elsewhere', async () => {
  for (const [path, shown] of [
    ['/docs/v1', 'v1'],
    ['/docs/v2', 'v2'],
    ['/docs', 'v2'],
  ] as const) {
    const answer = await fetch(app.url + path);
    assert.equal(answer.status, 200, path);
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    const policy = answer.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self'; /);
    assert.ok(!/unsafe-eval|https?:/.test(policy));
    const page = await answer.text();
    assert.ok(page.includes(`data-document="/openapi/${shown}.json"`));
    const addresses = [...page.matchAll(/(?:src|href|data-document)="([^"]+)"/g)].map((match) => match[1]!);
    for (const address of addresses.filter((each) => each !== 'data:,')) {
      assert.ok(address.startsWith('/'), address);
      const found = await fetch(app.url + address);
      assert.equal(found.status, 200, address);
      await found.body?.cancel();
    }
    assert.ok(!/<script>|\son\w+=/.test(page), 'no script in the page itself');
  }
});

function raw(
  path: string,
  headers: Record<string, string>,
): Promise<[coding: string | undefined, body: Buffer]> {
  return new Promise((resolve, reject) => {
    get(app.url + path, { headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve([answer.headers['content-encoding'], Buffer.concat(chunks)]));
    }).on('error', reject);
  });
}

test('a file is the same however it is compressed', async () => {
  for (const path of ['/openapi/v1.json', '/docs/swagger-ui.js', '/docs/swagger-ui.css']) {
    const [none, plain] = await raw(path, {});
    const [br, small] = await raw(path, { 'Accept-Encoding': 'br' });
    const [gzip, other] = await raw(path, { 'Accept-Encoding': 'gzip' });
    assert.deepEqual([none, br, gzip], [undefined, 'br', 'gzip'], path);
    assert.ok(brotliDecompressSync(small).equals(plain), path);
    assert.ok(gunzipSync(other).equals(plain), path);
    assert.ok(small.length < plain.length / 3, path);
  }
});

test('who has a file already is told so, and its tag is one of this coding', async () => {
  const path = `${app.url}/openapi/v1.json`;
  const first = await fetch(path, { headers: { 'Accept-Encoding': 'identity' } });
  const tag = first.headers.get('etag') ?? '';
  assert.match(tag, /^"[^"]+"$/);
  await first.arrayBuffer();
  const again = await fetch(path, { headers: { 'Accept-Encoding': 'identity', 'If-None-Match': tag } });
  assert.equal(again.status, 304);
  assert.equal(await again.text(), '');
  const packed = await fetch(path, { headers: { 'Accept-Encoding': 'br', 'If-None-Match': tag } });
  assert.equal(packed.status, 200);
  await packed.arrayBuffer();
});

test('HEAD has the headers of GET and no body; other methods and paths are not there', async () => {
  const got = await fetch(`${app.url}/docs/v1`, { headers: { 'Accept-Encoding': 'identity' } });
  const head = await fetch(`${app.url}/docs/v1`, {
    method: 'HEAD',
    headers: { 'Accept-Encoding': 'identity' },
  });
  assert.equal(head.status, 200);
  assert.equal(head.headers.get('etag'), got.headers.get('etag'));
  assert.equal(head.headers.get('content-length'), String((await got.arrayBuffer()).byteLength));
  assert.equal(await head.text(), '');
  for (const [method, path] of [
    ['POST', '/docs/v1'],
    ['DELETE', '/openapi/v1.json'],
    ['GET', '/docs/v3'],
    ['GET', '/docs/'],
    ['GET', '/docs/..%2fpackage.json'],
    ['GET', '/openapi'],
    ['GET', '/openapi/v1.yaml'],
    ['GET', '/openapi/__proto__'],
  ] as const) {
    const answer = await fetch(app.url + path, { method });
    assert.equal(answer.status, 404, `${method} ${path}`);
    const body = (await answer.json()) as { error: { code: string } };
    assert.equal(body.error.code, 'ROUTE_NOT_FOUND');
  }
});

test('every answer says which versions there are, also that nothing is there', async () => {
  for (const path of ['/openapi/v1.json', '/docs', '/docs/show.js', '/docs/nothing', '/openapi/v9.json']) {
    const answer = await fetch(app.url + path);
    await answer.body?.cancel();
    assert.equal(answer.headers.get('api-supported-versions'), '1.0, 2.0', path);
    assert.notEqual(answer.headers.get('x-correlation-id'), null, path);
  }
});

test('no credential is needed, and one that is wrong is not looked at', async () => {
  const answer = await fetch(`${app.url}/openapi/v1.json`, { headers: { 'X-API-Key': 'tsk_wrong' } });
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
});
