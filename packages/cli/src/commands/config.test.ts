import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../testing/command.ts';

const env = {
  Server__Port: '9000',
  Storage__Url: 'postgres://app:hunter2@db/audit',
  Storage__OwnerUrl: 'postgres://owner:hunter2@db/audit',
  Storage__IndexUrl: 'postgres://index:hunter2@db/audit',
  Storage__RetentionUrl: 'postgres://retention:hunter2@db/audit?password=hunter2',
  Encryption__Vault__Token: 'hunter2',
  TALLYSTICK_ADMIN_KEY: 'hunter2-hunter2-hunter2',
};

test('prints what holds and where it comes from, secrets masked', async () => {
  const { code, stdout, stderr } = await run(['config'], { env });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.match(stdout, /^Server__Port +9000 {2}\(environment\)$/m);
  assert.match(stdout, /^Storage__Url +\*\*\* {2}\(environment\)$/m);
  for (const name of ['OwnerUrl', 'IndexUrl', 'RetentionUrl'])
    assert.match(stdout, new RegExp(`^Storage__${name} +\\*\\*\\* {2}\\(environment\\)$`, 'm'));
  assert.match(stdout, /^Encryption__Vault__Token +\*\*\* {2}\(environment\)$/m);
  assert.match(stdout, /^TALLYSTICK_ADMIN_KEY +\*\*\* {2}\(environment\)/m);
  assert.doesNotMatch(stdout, /hunter2/);
});

test('prints JSON on request', async () => {
  const { stdout } = await run(['config', '--json'], { env });
  const settings = JSON.parse(stdout) as { Server: { Port: number }; TALLYSTICK_ADMIN_KEY: string };
  assert.deepEqual([settings.Server.Port, settings.TALLYSTICK_ADMIN_KEY], [9000, '***']);
});

test('lists what is wrong, with exit code 2', async () => {
  const { code, stdout, stderr } = await run(['config'], { env: { Server__Host: '', Mcp__Enabled: '' } });
  assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
  assert.equal(stderr.trimEnd().split('\n').length, 2);
});
