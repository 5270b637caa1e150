import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { processorMs } from '../testing/processor-time.ts';
import { until } from '../testing/until.ts';
import { systemClock } from './clock.ts';
import { watchProcess } from './process-usage.ts';

const isLinux = process.platform === 'linux';

test('what the process uses is told, and grows as it uses more', async () => {
  using usage = watchProcess(systemClock, () => {});
  const before = await usage.read();
  const files = Array.from({ length: 20 }, () => openSync(import.meta.filename, 'r'));
  const workMs = await processorMs(() => {
    for (const end = performance.now() + 20; performance.now() < end; );
  });
  const after = await usage.read();
  for (const file of files) closeSync(file);
  const cpu = (told: typeof before) => told.cpuUserSeconds + told.cpuSystemSeconds;
  assert.ok(cpu(after) - cpu(before) >= workMs / 1000, 'processor time is counted');
  assert.ok(after.residentBytes > after.heapUsedBytes, 'the heap is a part of the memory');
  assert.ok(after.heapUsedBytes <= after.heapTotalBytes);
  const startedAgo = Date.now() / 1000 - after.startedAtSeconds;
  assert.ok(Math.abs(startedAgo - process.uptime()) < 60, `it began ${startedAgo} s ago`);
  if (!isLinux) return;
  assert.ok(after.openFiles! - before.openFiles! >= 15, 'files that were opened are counted');
  assert.ok(after.openFilesMax! >= after.openFiles!);
  assert.ok(after.virtualBytes! >= after.residentBytes);
});

test('the lag of the event loop is that since a reading a minute ago, however often it is read between', async () => {
  const clock = createFakeClock();
  using usage = watchProcess(clock, () => {});
  const lag = async () => (await usage.read()).loopLag;
  await until(async () => (await lag()) !== undefined);
  const seconds = 0.3;
  for (const end = performance.now() + seconds * 1000; performance.now() < end; );
  const isBlocked = async () => ((await lag())?.max ?? 0) >= seconds * 0.9;
  await until(isBlocked);
  const { mean, p50, p90, p99, max } = (await lag())!;
  assert.ok(mean > 0 && p50 <= p90 && p90 <= p99 && p99 <= max * 1.01, [mean, p50, p90, p99, max].join());
  assert.ok(await isBlocked(), 'it is there for the next reader, too');
  await clock.advance(60_000);
  assert.ok(await isBlocked(), 'the last reading of its minute');
  assert.ok(await isBlocked(), 'a minute that has just begun says nothing yet');
});

test('garbage collections are told with their kind', async () => {
  const told: string[] = [];
  using _ = watchProcess(systemClock, (kind, spanNs) => {
    told.push(kind);
    assert.ok(spanNs > 0);
  });
  // Until one comes: what the young generation does not hold must be collected.
  while (told.length === 0) {
    Array.from({ length: 200_000 }, (__, i) => ({ i }));
    await new Promise((next) => setImmediate(next));
  }
  assert.ok(['minor', 'major', 'incremental', 'weakcb'].includes(told[0]!), told[0]);
});
