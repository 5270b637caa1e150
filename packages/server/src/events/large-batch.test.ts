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

/** The longest that one turn of this thread keeps its processor busy while something goes on. */
async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  const busyMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let longest = 0;
  let last = busyMs();
  const turn = () => {
    const now = busyMs();
    longest = Math.max(longest, now - last);
    last = now;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await work();
  clearImmediate(next);
  return longest;
}

test('a thousand events of keys that nobody knows are refused, and again, a few at a time', async (t) => {
  await using app = await startTestApp({ TALLYSTICK_ADMIN_KEY: HEADERS['X-API-Key'] });
  let made = 0;
  const newKeys = () => Object.fromEntries(Array.from({ length: 88 }, () => [`k${(made += 1)}`, null]));
  const plain = event(0);
  const places: [string, () => object][] = [
    ['actor', () => ({ actor: { actorType: 'User', ...newKeys() } })],
    ['tenantId', () => ({ tenantId: newKeys() })],
    ['action', () => ({ action: newKeys() })],
    ['x', () => ({ x: newKeys() })],
  ];
  for (const [name, wrong] of places) {
    const events = Array.from({ length: 999 }, () => ({ ...plain, payload: {}, ...wrong() }));
    const body = JSON.stringify({ events: [plain, ...events] });
    const shortest = new Map<number, number>();
    // A collection of garbage may fall into any turn: the best of some tries shows what the work itself takes.
    for (let i = 0; i < 3; i++) {
      const headers = { ...HEADERS, 'Idempotency-Key': `${name}-${i}` };
      for (const status of [207, 200]) {
        const longestMs = await longestTurnMs(async () => {
          const answer = await fetch(`${app.url}/api/v1/audit-events/batch`, {
            method: 'POST',
            headers,
            body,
          });
          assert.equal(answer.status, status);
          await answer.arrayBuffer();
        });
        shortest.set(status, Math.min(longestMs, shortest.get(status) ?? Infinity));
      }
    }
    for (const [status, longestMs] of shortest) {
      t.diagnostic(`${name}, ${status}: ${longestMs.toFixed(0)} ms`);
      assert.ok(longestMs < 100, `${name}, ${status}: ${longestMs} ms`);
    }
  }
});
