// P3: a request repeated with its key stores one event: at the same moment, after an answer that got lost on the
// way, and after a restart. How long a key lives is tested in time.test.ts.

import assert from 'node:assert/strict';
import { connect, createServer, type Server } from 'node:net';
import { test } from 'node:test';
import { type Backend, BACKENDS } from './backends.ts';
import { type Ask, Client, event } from './client.ts';
import { DAY_MS, START_MS, startInTime } from './in-time.ts';
import { markersIn } from './read-log.ts';
import { startService } from './running.ts';
import { SIZE } from './size.ts';

const EVENT = 1;

async function requireStoredOnce({ start, readLog }: Backend): Promise<void> {
  {
    await using service = await startService(start);
    using client = new Client(service.url, SIZE.parallelRepeats);
    for (let key = 0; key < SIZE.keys; key++) {
      const ask: Ask = { key: `key-${key}`, body: event(`marker-${key}`) };
      const replies = await Promise.all(Array.from({ length: SIZE.parallelRepeats }, () => client.ask(ask)));
      const statuses = replies.map(({ status }) => status);
      assert.equal(statuses.filter((status) => status === 201).length, 1, statuses.join(' '));
      assert.equal(statuses.filter((status) => status === 200).length, SIZE.parallelRepeats - 1);
      assert.equal(new Set(replies.map(({ body }) => (body as { eventId: string }).eventId)).size, 1);
    }
  }
  const counts = markersIn(await readLog());
  assert.equal(counts.size, SIZE.keys);
  assert.deepEqual(
    [...counts.values()].filter((count) => count !== 1),
    [],
  );
}

async function requireAnsweredAgain({ start, readLog }: Backend): Promise<void> {
  const stored = async () => (await readLog()).get('acme')!.filter(({ kind }) => kind === EVENT);
  const single: Ask = { key: 'once', body: event('single') };
  const batch: Ask = {
    key: 'once',
    path: '/api/v1/audit-events/batch',
    body: { events: [event('b-0'), { ...event('b-1'), action: 'wrong' }, event('b-2')] },
  };
  {
    await using service = await startService(start);
    const proxy = await eatAnswers(service.port);
    using client = new Client(`http://127.0.0.1:${proxy.port}`);
    await assert.rejects(client.ask(single));
    await assert.rejects(client.ask(batch));
    proxy.server.close();
  }
  const eventIds = (await stored()).map(({ eventId }) => eventId);
  assert.equal(eventIds.length, 3);
  await using service = await startService(start);
  using client = new Client(service.url);
  const again = await client.ask(single);
  assert.equal(again.status, 200);
  const { eventId, idempotent } = again.body as { eventId: string; idempotent: boolean };
  assert.ok(eventIds.includes(eventId) && idempotent);
  assert.equal(again.headers['location'], `/api/v1/audit-events/${eventId}`);
  assert.equal(again.headers['x-event-id'], eventId);
  const batchAgain = await client.ask(batch);
  assert.equal(batchAgain.status, 200);
  const { status, results } = batchAgain.body as {
    status: string;
    results: { status: string; error?: { code: string } }[];
  };
  assert.equal(status, 'PartialSuccess');
  assert.deepEqual(
    results.map((result) => result.error?.code ?? result.status),
    ['Accepted', 'VALIDATION_FAILED', 'Accepted'],
  );
  const other = await client.ask({ key: 'once', body: event('other') });
  assert.equal(other.status, 409);
  assert.equal((await stored()).length, 3);
}

/** Passes requests on; where the answer begins, cuts the connection. */
function eatAnswers(port: number): Promise<{ server: Server; port: number }> {
  const server = createServer((from) => {
    const to = connect(port, '127.0.0.1');
    from.pipe(to);
    to.once('data', () => from.destroy());
    for (const socket of [from, to]) {
      socket.on('error', () => {});
      socket.on('close', () => (from.destroy(), to.destroy()));
    }
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      assert.ok(typeof address === 'object' && address !== null);
      resolve({ server, port: address.port });
    });
  });
}

for (const [name, open] of Object.entries(BACKENDS)) {
  test(`${SIZE.parallelRepeats} identical requests at once on ${name}, for each of ${SIZE.keys} keys: one 201 and one event`, async () => {
    await using backend = await open();
    await requireStoredOnce(backend);
  });

  test(`an answer that is lost on ${name} after the commit, then a restart: the repeat gets the first answer and stores nothing`, async () => {
    await using backend = await open();
    await requireAnsweredAgain(backend);
  });

  test(`a key on ${name} lives for 24 hours, to the millisecond`, async () => {
    await using backend = await open();
    const { dataDirectory, env } = backend.start;
    const statuses = [];
    for (const shiftMs of [0, DAY_MS - 1, DAY_MS]) {
      await using service = await startInTime(dataDirectory, START_MS + shiftMs, {}, env);
      statuses.push((await service.send('once', { key: 'key' })).status);
    }
    assert.deepEqual(statuses, [201, 200, 201]);
  });
}

test('control: requests without a key are stored as often as they come, and this sees it', async () => {
  await using backend = await BACKENDS.PostgreSQL();
  {
    await using service = await startService(backend.start);
    using client = new Client(service.url);
    await Promise.all([1, 2].map(() => client.ask({ body: event('keyless') })));
  }
  assert.equal(markersIn(await backend.readLog()).get('keyless'), 2);
});
