// What a local consumer makes of requests: the golden vectors, and words of each type of notification.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signatureHeaders } from '@tallystick/server';
import { goldenDeliveries, SENT_SECONDS } from '../../../../tests/golden-deliveries.ts';
import { hear } from './heard.ts';

const NOW_MS = SENT_SECONDS * 1000;

for (const { path, isValid, headers, body, secrets } of goldenDeliveries())
  test(`${path} is ${isValid ? 'verified' : 'not'}, with each of its secrets`, () => {
    for (const secret of secrets) {
      const verdictAt = (nowMs: number) => hear(headers, body, { secret, nowMs, signatureHeaders }).verdict;
      if (isValid)
        assert.deepEqual([NOW_MS, NOW_MS + 300_000, NOW_MS + 300_001, NOW_MS - 300_001].map(verdictAt), [
          'verified',
          'verified',
          'too-old',
          'too-old',
        ]);
      else assert.equal(verdictAt(NOW_MS), path.includes('older') ? 'too-old' : 'wrong-signature');
    }
  });

test('a line says what happened, of each type of notification', () => {
  const summaryOf = (notification: object) =>
    hear({}, Buffer.from(JSON.stringify(notification)), {
      secret: undefined,
      nowMs: NOW_MS,
      signatureHeaders,
    }).summary;
  const event = { action: 'Pay.Invoice', resource: { resourceType: 'Invoice', resourceId: 'I-1' } };
  assert.equal(
    summaryOf({ event: { ...event, actor: { actorType: 'System' } } }),
    'Pay.Invoice Invoice I-1 by System',
  );
  const violation = { policyName: 'Deletions', violationType: 'Mass', severity: 'High' };
  assert.equal(summaryOf({ violation }), 'Deletions Mass High');
  assert.equal(summaryOf({ threshold: { name: 'Mass', observedValue: 7, threshold: 5 } }), 'Mass 7 of 5');
  const system = { kind: 'SystemStatusChanged', component: 'log', status: 'Degraded' };
  assert.equal(summaryOf({ system }), 'SystemStatusChanged log Degraded');
  assert.equal(summaryOf({ export: { exportId: 'E', status: 'Failed' } }), 'E Failed');
  assert.equal(summaryOf([]), '');
});
