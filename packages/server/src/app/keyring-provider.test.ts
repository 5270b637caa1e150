// A service whose keyring is sealed by a Vault: what it does while the Vault is away, and that it moves there and back
// while it runs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { HealthReport } from '@tallystick/contract';
import { loadConfig } from '../config/config.ts';
import { rewrapKeys, rotateData } from '../operate/rotate-data.ts';
import { ask } from '../testing/ask.ts';
import { believeClearance, eventCaller } from '../testing/event-caller.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { until } from '../testing/until.ts';
import { VaultServer } from '../testing/vault-server.ts';

type Settings = Readonly<Record<string, string>>;

const EVENT = {
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
  classification: 'Secret',
  payload: { card: 'a secret of the payload' },
};

const settingsOf = (vault: VaultServer, token = 's.good'): Settings => ({
  Environment: 'Test',
  Encryption__Provider: 'Vault',
  Encryption__Vault__Address: vault.url,
  Encryption__Vault__Key: 'tallystick',
  Encryption__Vault__Token: token,
});

const start = (settings: Settings) => startTestApp(settings, { authenticate: believeClearance });

/** As a command that an operator runs beside the service. */
const configOf = ({ dataDirectory }: TestApp, settings: Settings) =>
  loadConfig({
    variables: { ...settings, Storage__DataDirectory: dataDirectory },
    workingDirectory: dataDirectory,
  }).config;

async function sent(app: TestApp, tenant: string): Promise<string> {
  const { code, body } = await eventCaller(app, tenant).ingest(EVENT);
  assert.equal(code, '201');
  return body.eventId;
}

async function isReadable(app: TestApp, tenant: string, eventId: string): Promise<boolean> {
  const { body } = await eventCaller(app, tenant).get(eventId);
  return body.payload?.['card'] === EVENT.payload.card;
}

const keyring = ({ dataDirectory }: TestApp) => readFileSync(join(dataDirectory, 'keyring.json'), 'utf8');

test('while the Vault is away the service goes on with the keys that it has, and a new one fails cleanly', async () => {
  await using vault = await VaultServer.start();
  const settings = settingsOf(vault);
  await using app = await start(settings);
  const before = await sent(app, 'acme');
  await vault.server.goAway();
  const asked = vault.asked.length;
  const [during, ofNewTenant] = [await sent(app, 'acme'), await sent(app, 'beta')];
  assert.ok(await isReadable(app, 'acme', before));
  assert.ok(await isReadable(app, 'acme', during));
  assert.ok(await isReadable(app, 'beta', ofNewTenant), 'with keys of a tenant that came meanwhile');
  assert.equal(vault.asked.length, asked);

  const config = configOf(app, settings);
  const sealed = keyring(app);
  await assert.rejects(
    rotateData(config, 0),
    /^StartError: the key [0-9a-f]{16} of the keyring .* cannot be opened: the key transit\/tallystick of Vault at .* cannot be asked/,
  );
  assert.equal(keyring(app), sealed);
  assert.ok(await isReadable(app, 'acme', await sent(app, 'acme')));

  await vault.server.comeBack();
  const rotated = await rotateData(config, 1200);
  assert.equal(rotated.tenants, 2);
  for (const tenant of ['acme', 'beta'])
    await until(() => isReadable(app, tenant, tenant === 'acme' ? before : ofNewTenant));
  assert.ok(await isReadable(app, 'beta', await sent(app, 'beta')));
});

test('a node whose token no longer counts reads again what was rotated once it has one that does', async () => {
  await using vault = await VaultServer.start();
  vault.tokens.add('s.node');
  await using app = await start(settingsOf(vault, 's.node'));
  const before = await sent(app, 'acme');
  vault.tokens.delete('s.node');
  await rotateData(configOf(app, settingsOf(vault)), 1200);
  const told = () => app.lines.find(({ message }) => message === 'reading the keyring failed');
  await until(() => told() !== undefined);
  assert.match(String(told()!['error']), /must not be used with this token \(403/);
  const storage = async () => {
    const { body } = await ask<HealthReport>(app, 'GET', '/api/v1/health', {});
    return body.entries['storage']?.status;
  };
  assert.equal(await storage(), 'Degraded');
  vault.tokens.add('s.node');
  await until(() => isReadable(app, 'acme', before));
  await until(async () => (await storage()) === 'Healthy');
});

test('the keyring of a running service moves from its file to a Vault and back', async () => {
  await using vault = await VaultServer.start();
  const both = { ...settingsOf(vault), Encryption__PreviousProvider: 'File' };
  await using app = await start(both);
  assert.match(keyring(app), /"provider": "Vault"/, 'a new one is sealed by the provider');
  const back = { ...both, Encryption__Provider: 'File', Encryption__PreviousProvider: 'Vault' };
  const before = await sent(app, 'acme');
  for (const [settings, provider] of [
    [back, 'File'],
    [both, 'Vault'],
  ] as const) {
    const done = await rewrapKeys(configOf(app, settings));
    assert.deepEqual([done.provider, done.keys], [provider, 1]);
    assert.match(keyring(app), new RegExp(`"provider": "${provider}"`));
    assert.ok(await isReadable(app, 'acme', await sent(app, 'acme')));
  }
  await rotateData(configOf(app, both), 1200);
  await until(() => isReadable(app, 'acme', before));
  assert.deepEqual(
    app.lines.filter(({ message }) => message === 'reading the keyring failed'),
    [],
  );
});
