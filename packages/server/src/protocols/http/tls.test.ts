import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ConfigError } from '../../config/config-error.ts';
import { exchangeRaw } from '../../testing/raw-http.ts';
import { CERTIFICATE, KEY } from '../../testing/self-signed.ts';
import { startTestApp } from '../../testing/test-app.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-tls-'));
after(() => rmSync(folder, { recursive: true }));
const certificate = join(folder, 'certificate.pem');
const key = join(folder, 'key.pem');
writeFileSync(certificate, CERTIFICATE);
writeFileSync(key, KEY);

const SETTINGS = { Server__Tls__Certificate: certificate, Server__Tls__Key: key };

function ask(url: string, options: RequestOptions) {
  return new Promise<{ status: number | undefined; hsts: string | undefined }>((resolve, reject) => {
    get(url, { ...options, agent: false }, (response) => {
      response.resume().on('end', () => {
        resolve({ status: response.statusCode, hsts: response.headers['strict-transport-security'] });
      });
    }).on('error', reject);
  });
}

test('with a certificate and its key the service speaks TLS, and asks for it from then on', async () => {
  await using app = await startTestApp(SETTINGS);
  assert.match(app.url, /^https:/);
  assert.deepEqual(await ask(`${app.url}/health/live`, { ca: CERTIFICATE }), {
    status: 200,
    hsts: 'max-age=31536000',
  });
});

test('old versions of TLS and plain HTTP get no answer', async () => {
  await using app = await startTestApp(SETTINGS);
  await assert.rejects(
    ask(`${app.url}/health/live`, { ca: CERTIFICATE, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }),
  );
  assert.deepEqual(await exchangeRaw(app.port, 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'), []);
});

test('a file that is missing, or no key to the certificate, is a wrong setting', async () => {
  const table: [Record<string, string>, RegExp][] = [
    [
      { ...SETTINGS, Server__Tls__Key: join(folder, 'no.pem') },
      /^Server__Tls__Key: cannot read .*no\.pem \(ENOENT\)$/,
    ],
    [
      { ...SETTINGS, Server__Tls__Key: certificate },
      /^Server__Tls__Certificate: .* are no certificate and its key$/,
    ],
  ];
  for (const [settings, expected] of table) {
    await assert.rejects(startTestApp(settings), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.problems.join(), expected);
      return true;
    });
  }
});
