// Large batches travel in buffers that are given back early: what is stored is what was sent, of plain events and of
// those that are read and judged one by one, side by side in one request.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY } from '../testing/bound-operations.ts';
import { startTestApp } from '../testing/test-app.ts';

const HEADERS = {
  'X-API-Key': KEY.padEnd(24, 'x'),
  'X-Tenant-Id': 'acme',
  'Content-Type': 'application/json',
};

function event(n: number) {
  const plain = {
    timestamp: '2026-01-02T03:04:05.678Z',
    actor: { actorType: 'User', userId: `u-${n}` },
    action: 'Approve.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `INV-${n}` },
    context: { z: n, a: `\u00e4${n}` },
    payload: { text: `${n} `.repeat(200), n },
  };
  if (n % 3 === 0) return plain;
  return n % 3 === 1
    ? { ...plain, timestamp: '2026-01-02T04:04:05.678+01:00' }
    : { ...plain, actor: { ...plain.actor, userName: null }, payload: { ...plain.payload, quote: '\n"' } };
}

test('every event of a batch of half a megabyte comes back as it was sent', async () => {
  await using app = await startTestApp({ TALLYSTICK_ADMIN_KEY: HEADERS['X-API-Key'] });
  const events = Array.from({ length: 600 }, (_, n) => event(n));
  const url = `${app.url}/api/v1/audit-events`;
  for (const key of [undefined, 'once', 'once']) {
    const headers = { ...HEADERS, ...(key === undefined ? {} : { 'Idempotency-Key': key }) };
    const body = JSON.stringify({ events });
    assert.ok(body.length > 512 * 1024);
    const answer = await fetch(`${url}/batch`, { method: 'POST', headers, body });
    const { results } = (await answer.json()) as { results: { status: string; eventId: string }[] };
    for (const n of [0, 1, 2, 3, 298, 299, 300, 597, 598, 599]) {
      const got = await fetch(`${url}/${results[n]!.eventId}`, { headers: HEADERS });
      const { actor, context, payload, timestamp } = (await got.json()) as Record<string, unknown>;
      const { actor: sentActor, context: sentContext, payload: sentPayload } = event(n);
      const { actorType, userId } = sentActor;
      assert.deepEqual(
        { actor, context, payload, timestamp },
        {
          actor: { actorType, userId },
          context: sentContext,
          payload: sentPayload,
          timestamp: '2026-01-02T03:04:05.678Z',
        },
      );
    }
  }
});
