// P13 over restarts: the wall clock is another one at each start. Time in a log does not run backwards, its chain
// holds, and no key ends early but by a clock that is further ahead than the one it was used under; that one case no
// service can tell from having been stopped for so long, and docs/operating/run.md says so. At random: clock-walks.test.ts.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { signToken } from '../../packages/server/src/access/local-issuer.ts';
import { loadOrMakeTokenKey } from '../../packages/server/src/storage/keys/token-key.ts';
import type { Appender } from '../../packages/server/src/admin/measured-log.ts';
import { Client, event } from './client.ts';
import { DAY_MS, HOUR_MS, type Sent, startInTime, START_MS, type TimedService } from './in-time.ts';
import { eventsOf } from './read-log.ts';
import { startService, temporaryFolder } from './running.ts';

/** A data directory and a way to start on it with the clock off by so much. */
function openPlace() {
  const folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  return {
    dataDirectory,
    async whileStarted<T>(shiftMs: number, work: (service: TimedService) => Promise<T>): Promise<T> {
      await using service = await startInTime(dataDirectory, START_MS + shiftMs);
      return await work(service);
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const sendKeyed = (service: TimedService) => service.send('once', { key: 'key' });

test('time in a log stands still rather than run backwards, for any clock at a start', async () => {
  using place = openPlace();
  const sent: Sent[] = [];
  for (const [i, shiftMs] of [0, DAY_MS, -HOUR_MS, -10 * DAY_MS, DAY_MS + 1].entries()) {
    sent.push(
      ...(await place.whileStarted(shiftMs, async ({ send }) => [
        await send(`a-${i}`),
        await send(`b-${i}`),
      ])),
    );
  }
  const dayMs = Array.from({ length: 6 }, () => DAY_MS);
  assert.deepEqual(
    sent.map(({ receivedAtMs }) => receivedAtMs - START_MS),
    [0, 0, ...dayMs, DAY_MS + 1, DAY_MS + 1],
  );
  const inLog = eventsOf(place.dataDirectory, 'acme').map(({ eventId }) => eventId);
  assert.deepEqual(
    inLog,
    sent.map(({ eventId }) => eventId),
  );
  assert.equal(new Set(inLog).size, inLog.length);
});

test('a clock that is behind at a start ends no key, and draws none out once it is right again', async () => {
  using place = openPlace();
  const first = await place.whileStarted(0, sendKeyed);
  assert.equal(first.status, 201);
  for (const shiftMs of [-10 * DAY_MS, DAY_MS - 1]) {
    assert.deepEqual(await place.whileStarted(shiftMs, sendKeyed), { ...first, status: 200 }, `${shiftMs}`);
  }
  assert.equal((await place.whileStarted(DAY_MS, sendKeyed)).status, 201);
});

/** Uses a key after the clock, a month behind at the start, was set right. */
async function useAfterSlowStart(dataDirectory: string, around?: (log: Appender) => Appender) {
  const behindMs = START_MS - 30 * DAY_MS;
  await using service = await startInTime(dataDirectory, behindMs, around === undefined ? {} : { around });
  service.clock.setNow(START_MS);
  return await sendKeyed(service);
}

test('a key that is used after a slow clock was set right lives for 24 hours, over a start in between', async () => {
  using place = openPlace();
  const first = await useAfterSlowStart(place.dataDirectory);
  assert.deepEqual([first.status, first.receivedAtMs], [201, START_MS]);
  for (const shiftMs of [0, DAY_MS - 1]) {
    assert.deepEqual(await place.whileStarted(shiftMs, sendKeyed), { ...first, status: 200 }, `${shiftMs}`);
  }
  assert.equal((await place.whileStarted(DAY_MS, sendKeyed)).status, 201);
});

test('control: a key that lives by the clock of the start alone ends early, and this test sees it', async () => {
  using place = openPlace();
  const bySteadyTime = (log: Appender): Appender => ({
    append: (requests, now) => {
      const expiresAtMs = now.steadyNowMs + DAY_MS;
      return log.append(
        requests.map((one) =>
          one.once === undefined ? one : { ...one, once: { ...one.once, expiresAtMs } },
        ),
        now,
      );
    },
    probe: () => log.probe(),
  });
  assert.equal((await useAfterSlowStart(place.dataDirectory, bySteadyTime)).status, 201);
  assert.equal((await place.whileStarted(0, sendKeyed)).status, 201);
});

test('control: a clock that is a day ahead at a start ends keys early, and this test sees it', async () => {
  using place = openPlace();
  const first = await place.whileStarted(0, sendKeyed);
  const second = await place.whileStarted(DAY_MS, sendKeyed);
  assert.deepEqual([first.status, second.status], [201, 201]);
  assert.deepEqual(await place.whileStarted(0, sendKeyed), { ...second, status: 200 });
});

test('a token is in force by the clock of the start, and a revoked key is revoked by any', async () => {
  using place = openPlace();
  const { Authorization, revokedKey } = await place.whileStarted(0, async ({ ask }) => {
    const tokenKey = await loadOrMakeTokenKey(place.dataDirectory, 'test');
    const request = {
      tenant: 'acme',
      subject: 'ana',
      roles: [],
      clearance: undefined,
      lifetimeSeconds: 3600,
    };
    const token = await signToken(tokenKey, { ...request, scopes: ['audit:write'] }, START_MS);
    const made = await ask({ path: '/api/v1/admin/api-keys', body: { name: 'x', roles: ['Operator'] } });
    const { keyId, key } = made.body as { keyId: string; key: string };
    assert.equal((await ask({ method: 'DELETE', path: `/api/v1/admin/api-keys/${keyId}` })).status, 204);
    return { Authorization: `Bearer ${token}`, revokedKey: key };
  });
  const table: [shiftMs: number, withToken: string][] = [
    [DAY_MS, '401 TOKEN_EXPIRED'],
    [HOUR_MS - 1000, '201'],
    [-10 * DAY_MS, '401 UNAUTHENTICATED'],
  ];
  for (const [shiftMs, withToken] of table) {
    await place.whileStarted(shiftMs, async ({ ask }) => {
      const codeWith = async (headers: Record<string, string>) => {
        const { status, body } = await ask({ headers, body: event('x') });
        return `${status} ${(body as { error?: { code: string } }).error?.code ?? ''}`.trim();
      };
      assert.equal(await codeWith({ Authorization }), withToken, `${shiftMs}`);
      assert.equal(await codeWith({ 'X-API-Key': revokedKey }), '401 API_KEY_REVOKED', `${shiftMs}`);
    });
  }
});

test('killed, and started again by another clock: order, chain and keys hold', async () => {
  using folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const script = join(import.meta.dirname, 'processes/other-time.ts');
  const eventIds: string[] = [];
  for (const [round, shiftMs] of [0, -HOUR_MS, HOUR_MS, DAY_MS, 0].entries()) {
    const env = { CLOCK_SHIFT_MS: String(shiftMs) };
    await using service = await startService({ dataDirectory, script, env });
    using client = new Client(service.url);
    const sent = await client.ask({ key: `key-${round}`, body: event(`${round}`) });
    assert.equal(sent.status, 201);
    eventIds.push((sent.body as { eventId: string }).eventId);
    // A clock that is a day ahead has ended those that were used before.
    for (const number of round < 3 ? eventIds.keys() : [round]) {
      const again = await client.ask({ key: `key-${number}`, body: event(`${number}`) });
      assert.deepEqual(
        [again.status, (again.body as { eventId: string }).eventId],
        [200, eventIds[number]],
        `key-${number} in round ${round}`,
      );
    }
  }
  const inLog = eventsOf(dataDirectory, 'acme').map(({ eventId }) => eventId);
  assert.deepEqual(inLog, eventIds);
});
