import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { get, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { ConfigError } from '../../config/config-error.ts';
import { createAuthority } from '../../testing/certificates.ts';
import { exchangeRaw } from '../../testing/raw-http.ts';
import { CERTIFICATE, KEY } from '../../testing/self-signed.ts';
import { startTestApp } from '../../testing/test-app.ts';
import { until } from '../../testing/until.ts';

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

/** A connection whose handshake is done, by whatever certificate the service shows. */
function connected(
  port: number | undefined,
  options: { readonly ALPNProtocols?: string[] } = {},
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: port!, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () =>
      resolve(socket),
    );
    socket.once('error', reject);
  });
}

/** The name in the certificate that a new connection is shown. */
async function shownName(port: number | undefined): Promise<string | string[] | undefined> {
  const socket = await connected(port);
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return name;
}

test('a renewed pair is taken up; until both files fit the old one serves, and a warning says why', async () => {
  const authority = createAuthority();
  const [first, second] = [authority.issue({ hosts: ['first'] }), authority.issue({ hosts: ['second'] })];
  const files = { certificate: join(folder, 'renewed.pem'), key: join(folder, 'renewed-key.pem') };
  /** As programs that renew do it: readers see the old text or the new one. */
  const write = (file: string, text: string) => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  write(files.certificate, first.certificate);
  write(files.key, first.key);
  await using app = await startTestApp({
    Server__Tls__Certificate: files.certificate,
    Server__Tls__Key: files.key,
    Grpc__Port: '0',
  });
  const warnings = () =>
    app.lines.filter(({ message }) => String(message).startsWith('the certificate in use stays'));
  const told = (cause: RegExp) => until(() => warnings().some((line) => cause.test(String(line['cause']))));
  const open = await connected(app.port);
  const session = connectHttp2(`https://127.0.0.1:${app.grpcPort}`, { rejectUnauthorized: false });
  await once(session, 'connect');
  assert.equal(await shownName(app.grpcPort), 'first');
  assert.equal(await shownName(app.port), 'first');

  write(files.certificate, second.certificate);
  await told(/renewed\.pem and .*renewed-key\.pem are no certificate and its key$/);
  assert.equal(await shownName(app.port), 'first', 'a certificate without its key');
  rmSync(files.key);
  await told(/^Server__Tls__Key: cannot read .*renewed-key\.pem \(ENOENT\)$/);
  assert.equal(await shownName(app.port), 'first', 'no key at all');
  write(files.key, '');
  await until(() => warnings().length === 3);
  assert.equal(await shownName(app.port), 'first', 'an empty key');
  write(files.key, second.key);
  await until(async () => (await shownName(app.port)) === 'second');
  assert.equal(await shownName(app.grpcPort), 'second', 'the port of gRPC');
  assert.ok(app.lines.some(({ message }) => message === 'a new certificate is in use'));
  assert.ok(!JSON.stringify(app.lines).includes('PRIVATE KEY'));
  assert.equal(warnings().length, 3, 'each trouble is told of once');

  const answered = new Promise<string>((resolve) => open.once('data', (chunk) => resolve(String(chunk))));
  open.write('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  assert.match(await answered, /^HTTP\/1\.1 200 OK/, 'a connection that was open is served on');
  await new Promise<void>((resolve, reject) =>
    session.ping((error) => (error === null ? resolve() : reject(error))),
  );
  session.destroy();
});

test('HTTP/1.1 is agreed on with clients that could speak HTTP/2 as well', async () => {
  await using app = await startTestApp(SETTINGS);
  const socket = await connected(app.port, { ALPNProtocols: ['h2', 'http/1.1'] });
  assert.equal(socket.alpnProtocol, 'http/1.1');
  socket.destroy();
  await assert.rejects(connected(app.port, { ALPNProtocols: ['h2'] }));
});
