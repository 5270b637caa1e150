import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookIdOf } from './webhook-id.ts';

const SUBSCRIPTION = '01JAZZ00000000000000000000';

test('the id of a delivery stays the same for ever: these were made by another implementation', () => {
  const id = webhookIdOf('acme', SUBSCRIPTION, 'event.notification', 'event 7');
  assert.equal(id, '24952e15-2c24-5309-866c-bf33f1c1cdba');
  assert.equal(
    webhookIdOf('acme', SUBSCRIPTION, 'system.event', 'seal 12'),
    'ff9b8ca5-e522-5851-8a4f-5f638de30098',
  );
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('each of tenant, subscription, type and source makes it another one, wherever their texts end', () => {
  const all = [
    webhookIdOf('acme', SUBSCRIPTION, 'policy.violated', 'violation 1'),
    webhookIdOf('acm', `e${SUBSCRIPTION}`, 'policy.violated', 'violation 1'),
    webhookIdOf('acme', SUBSCRIPTION.replace('Z', 'Y'), 'policy.violated', 'violation 1'),
    webhookIdOf('acme', SUBSCRIPTION, 'threshold.exceeded', 'violation 1'),
    webhookIdOf('acme', SUBSCRIPTION, 'policy.violated', 'violation 11'),
    webhookIdOf('acme', SUBSCRIPTION, 'policy.violated', 'event 1'),
  ];
  assert.equal(new Set(all).size, all.length);
});
