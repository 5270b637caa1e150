// The real command against the real service.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { run } from '../testing/command.ts';
import { emptyPlace } from '../testing/place.ts';
import { policedTenant } from '../testing/policies-command.ts';
import { startSearched } from '../testing/searched-log.ts';

const place = emptyPlace();
const service = await startSearched(place);
after(async () => {
  await service[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

describe('tallystick retention preview', () => {
  const tenant = 'preview';
  const acme = policedTenant(service.url, tenant);
  const preview = (...words: string[]) =>
    run(['retention', 'preview', '--tenant', tenant, ...words], { env: acme.env });

  it('is a table of what is purged by policy, or JSON', async () => {
    const rules = [{ conditions: { action: 'Delete.Invoice' }, effect: { retentionPeriod: 'P5D' } }];
    await acme.send('POST', 'policies', { name: 'Days', policyType: 'Retention', rules });
    const log = service.of(tenant);
    const actions = ['Delete.Invoice', 'Delete.Invoice', 'Sign.Contract'];
    await log.add(actions.map((action) => ({ action })));
    const nothing = await preview();
    assert.deepEqual([nothing.code, nothing.stderr], [0, '']);
    assert.match(nothing.stdout, /^0 events to be purged until 20\S+Z\n$/);
    const soon = await preview('--until', inDays(6));
    assert.match(
      soon.stdout,
      /^EVENTS +POLICY +POLICY ID\n2 +Days +[0-9A-Z]{26}\n2 events to be purged until 20\S+Z\n$/,
    );
    const all = await preview('--until', inDays(3000).slice(0, 10));
    assert.match(all.stdout, /\n1 +\(the default\) +-\n3 events/);
    const json = JSON.parse((await preview('--until', inDays(6), '--json')).stdout) as Record<
      string,
      unknown
    >;
    assert.deepEqual(Object.keys(json), ['until', 'byPolicy', 'heldEvents']);
  });

  it('says what is wrong with a time, and exits with 2, or with 1 if the service says it', async () => {
    const wrong = await preview('--until', 'tomorrow');
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /--until is "tomorrow"; it is a day or an instant/);
    const past = await preview('--until', '2020-01-01');
    assert.equal(past.code, 1);
    assert.match(past.stderr, /until is in the past/);
  });
});
