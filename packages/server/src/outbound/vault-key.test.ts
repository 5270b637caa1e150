// A key of a Vault, asked over HTTP: the one in testing/ really encrypts.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../runtime/clock.ts';
import { CERTIFICATE, KEY } from '../testing/self-signed.ts';
import { VaultServer } from '../testing/vault-server.ts';
import { anyAddress, loopbackOnly, noAddress } from './http/address-rules.ts';
import { createOutboundHttp } from './http/guarded-http.ts';
import { createVaultKey, type VaultLogin, type VaultParts } from './vault-key.ts';
import { RemoteKeyError } from './remote-key-error.ts';

const http = createOutboundHttp({ clock: systemClock, https: anyAddress, http: loopbackOnly });
const folder = mkdtempSync(join(tmpdir(), 'tallystick-vault-'));
after(() => rmSync(folder, { recursive: true }));

const BOUND = { 'tallystick:key': '00000000000000aa' };
const SECRET = new TextEncoder().encode('a data key of 32 bytes, or so   ');
const tokenOf = (token: string): VaultLogin => ({ token: { reveal: () => token } });

function keyOf(vault: Pick<VaultServer, 'url' | 'mount'>, parts: Partial<VaultParts> = {}) {
  const place = { address: `${vault.url}/`, mount: vault.mount, namespace: undefined };
  return createVaultKey({ place, key: 'tallystick', login: tokenOf('s.good'), http, ...parts });
}

const saying =
  (...parts: string[]) =>
  (error: unknown) => {
    assert.ok(error instanceof RemoteKeyError, String(error));
    for (const part of parts) assert.ok(error.message.includes(part), error.message);
    assert.doesNotMatch(error.message, /s\.good|s\.bad|\n/);
    return true;
  };

test('what is encrypted is decrypted for what it is bound to alone, also under a version from before', async () => {
  await using vault = await VaultServer.start('keys/transit');
  const key = keyOf(vault);
  const first = await key.encrypt(SECRET, BOUND);
  vault.rotate('tallystick');
  const second = await key.encrypt(SECRET, BOUND);
  assert.match(new TextDecoder().decode(first), /^vault:v1:/);
  assert.match(new TextDecoder().decode(second), /^vault:v2:/);
  for (const encrypted of [first, second])
    assert.deepEqual(new Uint8Array(await key.decrypt(encrypted, BOUND)), SECRET);
  await assert.rejects(
    key.decrypt(first, { 'tallystick:key': '00000000000000bb' }),
    saying('the key keys/transit/tallystick of Vault at http://127.0.0.1:', 'does not open this', '400'),
  );
});

test('each refusal names the key and the reason in one line, without the token', async () => {
  await using vault = await VaultServer.start();
  const named = `the key transit/tallystick of Vault at ${vault.url}`;
  await assert.rejects(
    keyOf(vault, { login: tokenOf('s.bad') }).encrypt(SECRET, BOUND),
    saying(named, 'must not be used with this token (403 permission denied)'),
  );
  await assert.rejects(
    keyOf({ url: vault.url, mount: 'elsewhere' }).encrypt(SECRET, BOUND),
    saying('the key elsewhere/tallystick', 'is not there (404 no handler for route'),
  );
  vault.isSealed = true;
  await assert.rejects(
    keyOf(vault).encrypt(SECRET, BOUND),
    saying(named, 'Vault is sealed, or in maintenance (503'),
  );
  await vault.server.goAway();
  await assert.rejects(keyOf(vault).encrypt(SECRET, BOUND), saying(named, 'cannot be asked', 'ECONNREFUSED'));
});

test('a token file is read for each call, and is said to be missing or empty', async () => {
  await using vault = await VaultServer.start();
  const tokenFile = join(folder, 'token');
  const key = keyOf(vault, { login: { tokenFile } });
  await assert.rejects(key.encrypt(SECRET, BOUND), saying('cannot read the token', '(ENOENT)'));
  writeFileSync(tokenFile, '\n');
  await assert.rejects(key.encrypt(SECRET, BOUND), saying('there is no token in'));
  writeFileSync(tokenFile, 's.good\n');
  const encrypted = await key.encrypt(SECRET, BOUND);
  vault.tokens.delete('s.good');
  await assert.rejects(key.decrypt(encrypted, BOUND), saying('403'));
  vault.tokens.add('s.renewed');
  writeFileSync(tokenFile, 's.renewed\n');
  assert.deepEqual(new Uint8Array(await key.decrypt(encrypted, BOUND)), SECRET);
});

test('the Kubernetes account logs in for each call, in the namespace', async () => {
  await using vault = await VaultServer.start();
  vault.namespace = 'team/audit';
  vault.roles.set('tallystick', 'jwt-of-the-account');
  const accountTokenFile = join(folder, 'account-token');
  writeFileSync(accountTokenFile, 'jwt-of-the-account');
  const login = { role: 'tallystick', mount: 'kubernetes', accountTokenFile };
  const place = { address: vault.url, mount: vault.mount, namespace: 'team/audit' };
  const key = keyOf(vault, { login, place });
  assert.deepEqual(new Uint8Array(await key.decrypt(await key.encrypt(SECRET, BOUND), BOUND)), SECRET);
  assert.equal(vault.asked.filter((path) => path === '/v1/auth/kubernetes/login').length, 2);
  await assert.rejects(
    keyOf(vault, { login }).encrypt(SECRET, BOUND),
    saying('the login as tallystick', '404'),
  );
  writeFileSync(accountTokenFile, 'jwt-of-another');
  await assert.rejects(
    key.encrypt(SECRET, BOUND),
    saying('the login as tallystick by auth/kubernetes', '403'),
  );
});

test('a certificate is verified by the authorities that are named, and plain http goes nowhere in Production', async () => {
  const server = createServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
    request.resume();
    response.end(JSON.stringify({ data: { ciphertext: 'vault:v1:AAAA' } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const at = { url: `https://localhost:${(server.address() as AddressInfo).port}`, mount: 'transit' };
  await assert.rejects(
    keyOf(at).encrypt(SECRET, BOUND),
    saying('cannot be asked', 'self-signed certificate'),
  );
  using trusting = createOutboundHttp({
    clock: systemClock,
    https: anyAddress,
    http: noAddress,
    authorities: CERTIFICATE,
  });
  await keyOf(at, { http: trusting }).encrypt(SECRET, BOUND);
  await assert.rejects(
    keyOf({ url: 'http://127.0.0.1:1', mount: 'transit' }, { http: trusting }).encrypt(SECRET, BOUND),
    saying('an address begins with https:, not with http:'),
  );
});

test('a Vault that hangs is given up in time, and one that answers something else is said to', async () => {
  const server = createServer({ cert: CERTIFICATE, key: KEY }, (request, response) => {
    if (request.headers['x-vault-token'] === 's.hang') return;
    response.end('{"data":{}}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const at = { url: `https://localhost:${(server.address() as AddressInfo).port}`, mount: 'transit' };
  using trusting = createOutboundHttp({
    clock: systemClock,
    https: anyAddress,
    http: noAddress,
    authorities: CERTIFICATE,
  });
  await assert.rejects(
    keyOf(at, { http: trusting, login: tokenOf('s.hang'), timeoutMs: 100 }).encrypt(SECRET, BOUND),
    saying('gave no whole answer within 100 ms'),
  );
  await assert.rejects(
    keyOf(at, { http: trusting }).encrypt(SECRET, BOUND),
    saying('gives an answer without data.ciphertext'),
  );
});
