// The real commands against the real service: fields of an event and what is stored about a person are removed.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Erasure, RedactionReceipt } from '@tallystick/contract';
import { type Ended, run } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';
import { policedTenant } from '../testing/policies-command.ts';
import { startSearched } from '../testing/searched-log.ts';

const place = emptyPlace();
const service = await startSearched(place);
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const { env } = policedTenant(service.url, 'any');
const apiKey = String(env['TALLYSTICK_API_KEY']);
const command = (tenant: string, name: string, ...args: readonly string[]): Promise<Ended> =>
  run([name, '--tenant', tenant, ...args], { env });

async function sent(tenant: string, more: object = {}): Promise<string> {
  const event = {
    timestamp: '2026-01-02T03:04:05Z',
    actor: { actorType: 'User', userId: 'u-9' },
    action: 'Update.Account',
    resource: { resourceType: 'Account', resourceId: 'A-1' },
    payload: { iban: 'DE02', amount: 1 },
    ...more,
  };
  const headers = { 'Content-Type': 'application/json', 'X-API-Key': apiKey, 'X-Tenant-Id': tenant };
  const init = { method: 'POST', headers, body: JSON.stringify(event) };
  const answer = await fetch(`${service.url}/api/v1/audit-events`, init);
  assert.equal(answer.status, 201);
  return ((await answer.json()) as { eventId: string }).eventId;
}

test('fields of an event are removed, and the command says under which notice', async () => {
  const eventId = await sent('story');
  const asked = ['--reason', 'by mistake', '--field', 'payload.iban'];
  const refused = await command('story', 'redact', eventId, ...asked);
  assert.deepEqual([refused.code, /give --yes/.test(refused.stderr)], [2, true]);
  const done = await command('story', 'redact', eventId, ...asked, '--yes', '--json');
  assert.deepEqual([done.code, done.stderr], [0, '']);
  const receipt = JSON.parse(done.stdout) as RedactionReceipt;
  assert.deepEqual([receipt.eventId, receipt.fields], [eventId, ['payload.iban']]);
  const again = await command('story', 'redact', eventId, ...asked, '--yes');
  assert.deepEqual([again.code, /is not in the event/.test(again.stderr)], [1, true], again.stderr);
});

test('where the tenant wants four eyes, the command says how another caller confirms', async () => {
  const eventId = await sent('eyes');
  const headers = { 'Content-Type': 'application/json', 'X-API-Key': apiKey, 'X-Tenant-Id': 'eyes' };
  const init = { method: 'PUT', headers, body: JSON.stringify({ fourEyes: true }) };
  assert.equal((await fetch(`${service.url}/api/v1/admin/tenants/eyes`, init)).status, 200);
  const asked = await command('eyes', 'redact', eventId, '--reason', 'x', '--field', 'payload.iban', '--yes');
  assert.equal(asked.code, 0, asked.stderr);
  assert.match(asked.stdout, /^waits for another caller: tallystick confirm [0-9A-Z]{26} --tenant eyes\n$/);
  const operationId = asked.stdout.split(' ')[6]!;
  const own = await command('eyes', 'confirm', operationId);
  assert.deepEqual([own.code, /another caller/.test(own.stderr)], [1, true], own.stderr);
  const key = { method: 'POST', headers, body: JSON.stringify({ name: 'second', roles: ['Admin'] }) };
  const made = await fetch(`${service.url}/api/v1/admin/api-keys`, key);
  const { key: second } = (await made.json()) as { key: string };
  const confirmed = await command('eyes', 'confirm', operationId, '--api-key', second);
  assert.equal(confirmed.code, 0, confirmed.stderr);
  assert.match(confirmed.stdout, new RegExp(`^removed payload.iban of ${eventId}, under notice `));
});

test('what is stored about a person is erased, and the command waits until it is', async () => {
  for (let i = 0; i < 3; i++) await sent('people');
  const nobody = await command('people', 'erase', '--reason', 'x', '--yes');
  assert.deepEqual([nobody.code, /must say whose events/.test(nobody.stderr)], [2, true]);
  const done = await command('people', 'erase', '--user-id', 'u-9', '--reason', 'x', '--yes');
  assert.deepEqual([done.code, done.stderr], [0, '']);
  assert.match(
    done.stdout,
    /^erasure [0-9A-Z]{26}: Completed, under notice [0-9A-Z]{26}\n3 of 3 events erased\n$/,
  );
  const none = await command('people', 'erase', '--user-id', 'u-9', '--reason', 'x', '--yes', '--json');
  assert.equal((JSON.parse(none.stdout) as Erasure).matchedEvents, 0);
  const unknown = await command('people', 'confirm', '01KE0000000000000000000099');
  assert.equal(unknown.code, 1);
});

test('an erasure is waited for, and said to be done, also for a caller who is not told how many events that are', async () => {
  await sent('ruled');
  const effect = { access: 'Deny', roles: ['Admin'] };
  const hidden = {
    name: 'hidden',
    policyType: 'Access',
    rules: [{ conditions: { action: 'Fire.Person' }, effect }],
  };
  await policedTenant(service.url, 'ruled').send('POST', 'policies', hidden);
  const done = await command('ruled', 'erase', '--user-id', 'u-9', '--reason', 'x', '--yes');
  assert.deepEqual([done.code, done.stderr], [0, '']);
  assert.match(
    done.stdout,
    /^erasure [0-9A-Z]{26}: Completed, under notice [0-9A-Z]{26}\nhow many events that are is told only /,
  );
});
