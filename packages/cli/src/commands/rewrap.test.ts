// The keyring of an installation moves from its file to a Vault while the service runs, and everything finds it there.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { VaultServer } from '../../../server/src/testing/vault-server.ts';
import { serve } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';

const KEY = 'correct-horse-battery-1';
const EVENT = {
  timestamp: '2026-01-02T03:04:05Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
  classification: 'Secret',
};

async function send(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/audit-events`, {
    method: 'POST',
    headers: { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' },
    body: JSON.stringify(EVENT),
  });
  assert.equal(response.status, 201, await response.text());
}

test('keys rewrap moves the keyring to a Vault, where the service and all commands need the Vault', async () => {
  await using vault = await VaultServer.start();
  using place = emptyPlace();
  const settings = { ...place.env, Environment: 'Test', TALLYSTICK_ADMIN_KEY: KEY };
  const file = join(place.data, 'keyring.json');
  const withVault = {
    Environment: 'Test',
    Encryption__Provider: 'Vault',
    Encryption__Vault__Address: vault.url,
    Encryption__Vault__Key: 'tallystick',
    Encryption__Vault__Token: 's.good',
  };
  {
    await using service = await serve({ env: settings });
    await send(service.port);
    const refused = await place.run(['keys', 'rewrap'], withVault);
    assert.deepEqual([refused.code, refused.stdout], [1, '']);
    assert.match(
      refused.stderr,
      /^tallystick: the keyring .* is sealed by File, and Encryption__Provider is Vault; .*Encryption__PreviousProvider[^\n]*\n$/,
    );
    const moved = await place.run(['keys', 'rewrap'], {
      ...withVault,
      Encryption__PreviousProvider: 'File',
    });
    assert.deepEqual([moved.code, moved.stderr], [0, '']);
    assert.equal(moved.stdout, `${file} is sealed by Vault: 1 key\n`);
    await send(service.port);
  }
  assert.match(readFileSync(file, 'utf8'), /"provider": "Vault"/);
  const verified = await place.run(['verify', place.data], withVault);
  assert.equal(verified.code, 0, verified.stderr);
  const blind = await place.run(['verify', place.data]);
  assert.equal(blind.code, 2);
  assert.match(blind.stderr, /is sealed by Vault, and Encryption__Provider is File/);
  await vault.server.goAway();
  const stopped = await place.run(['serve'], { ...withVault, Server__Port: '0' });
  assert.equal(stopped.code, 1);
  assert.match(
    stopped.stderr,
    /tallystick: the key [0-9a-f]{16} of the keyring .* cannot be opened: the key transit\/tallystick of Vault at http:\/\/127\.0\.0\.1:\d+ cannot be asked: [^\n]*\n$/,
  );
  assert.doesNotMatch(stopped.stderr, /s\.good/);
});
