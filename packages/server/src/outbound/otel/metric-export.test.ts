import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyResource } from '@opentelemetry/resources';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createMetricExport } from './metric-export.ts';

test('a database that does not answer does not hold up the stop', async () => {
  const clock = createFakeClock();
  const metrics = await createMetricExport({
    options: { protocol: 'http/protobuf', intervalMs: 60_000, timeoutMs: 30_000 },
    resource: emptyResource(),
    scope: { name: 'test', version: '1' },
    clock,
    telemetry: { warn: () => assert.fail('nothing is sent'), info: () => {} },
  });
  let readings = 0;
  metrics.start(() => {
    readings += 1;
    return new Promise(() => {});
  });
  const stopped = metrics.stopReading();
  while (clock.pending() === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(readings, 1, 'the last one');
  await clock.advance(1000);
  await stopped;
});
