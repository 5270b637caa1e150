import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { createTelemetry } from '../../telemetry.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../../testing/event-caller.ts';
import { startTestApp } from '../../testing/test-app.ts';
import { startSealer } from './sealer.ts';

/** The times within five minutes at which the sealer looked for streams; it finds more in the first two turns. */
async function turnsOf(sealAfterMs: number): Promise<number[]> {
  const clock = createFakeClock(0);
  const turns: number[] = [];
  const writer = {
    async sealAged({ nowMs }: { nowMs: number }) {
      turns.push(nowMs);
      return turns.length < 3;
    },
  };
  const telemetry = createTelemetry({ clock, level: 'Error', form: 'json', secrets: [], write: () => {} });
  const streams = { sealAfter: { ms: sealAfterMs }, sealAfterEvents: 1 };
  const random = createSystemRandom();
  const parts = { clock, random, telemetry, steadyNowMs: () => clock.now() };
  await using _ = startSealer({ writer, streams, ...parts });
  for (let i = 0; i < 5; i++) await clock.advance(0);
  await clock.advance(5 * 60_000);
  return turns;
}

test('streams of their age are looked for portion after portion, then once a minute', async () => {
  assert.deepEqual(await turnsOf(86_400_000), [0, 0, 0, 60_000, 120_000, 180_000, 240_000, 300_000]);
});

test('where streams are shorter than a minute, as often as they are cut, but not more than once a second', async () => {
  assert.deepEqual((await turnsOf(20_000)).slice(2, 6), [0, 20_000, 40_000, 60_000]);
  assert.deepEqual((await turnsOf(1)).slice(2, 6), [0, 1000, 2000, 3000]);
});

test('the service seals by the limits that are set: what is full at once, and what is idle soon', async () => {
  const settings = { Streams__SealAfter: 'PT2S', Streams__SealAfterEvents: '2' };
  await using app = await startTestApp(settings, { authenticate: believeClearance });
  const acme = eventCaller(app);
  using db = new DatabaseSync(join(app.dataDirectory, 'journal.db'), { readOnly: true });
  const bounds = () =>
    db.prepare("SELECT first_index FROM streams JOIN tenants USING (tenant) WHERE tenant_id = 'acme'").all();
  assert.equal((await acme.ingestBatch({ events: [EVENT, EVENT] })).status, 201);
  assert.equal(bounds().length, 2, 'the batch has filled a stream');
  assert.equal((await acme.ingest(EVENT)).status, 201);
  for (let i = 0; i < 1200 && bounds().length < 3; i++) await wait(100);
  assert.equal(bounds().length, 3, 'the idle stream was sealed');
});
