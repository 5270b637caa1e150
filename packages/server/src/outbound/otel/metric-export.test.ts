// What is sent where the store fails or does not answer, to a receiver that takes everything.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { emptyResource } from '@opentelemetry/resources';
import type { Metric } from '@tallystick/contract';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { createMetricExport } from './metric-export.ts';

const ENDPOINT = 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT';

/** What came in, oldest first. */
const bodies: string[] = [];
const receiver = createServer((request, response) => void take(request, response));
async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  bodies.push(await text(request));
  response.end('{}');
}
const endpointBefore = process.env[ENDPOINT];
before(async () => {
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  process.env[ENDPOINT] = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
});
after(() => {
  if (endpointBefore === undefined) delete process.env[ENDPOINT];
  else process.env[ENDPOINT] = endpointBefore;
  receiver.closeAllConnections();
  receiver.close();
});

const gauge = (name: string): Metric => ({
  name,
  type: 'Gauge',
  help: name,
  samples: [{ labels: {}, value: 1 }],
});

async function startExport(clock: FakeClock, intervalMs: number, all: () => Promise<Metric[]>) {
  bodies.length = 0;
  const lines: string[] = [];
  const note = (message: string, facts: { readonly reason?: unknown } = {}) =>
    void lines.push(`${message}: ${String(facts.reason)}`);
  const metrics = await createMetricExport({
    options: { protocol: 'http/json', intervalMs, timeoutMs: intervalMs },
    resource: emptyResource(),
    scope: { name: 'test', version: '1' },
    clock,
    telemetry: { warn: note, info: note },
  });
  metrics.start({ all, own: async () => [gauge('own')] });
  return { lines, metrics };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('a database that does not answer does not hold up the stop, and what the process knows is sent', async () => {
  const clock = createFakeClock();
  let readings = 0;
  const { lines, metrics } = await startExport(clock, 60_000, () => {
    readings += 1;
    return new Promise(() => {});
  });
  const stopped = metrics.stopReading();
  while (clock.pending() === 0) await nextTurn();
  assert.equal(readings, 1, 'the last one');
  await clock.advance(1000);
  await stopped;
  await metrics.ended();
  assert.match(bodies.join(), /"name":"own"/);
  assert.deepEqual(lines, ['metrics of the store could not be exported: they were not read in time']);
  assert.equal(clock.pending(), 0);
});

test('readings that hang or fail are told of, and the next ones go on', async () => {
  const clock = createFakeClock();
  let readings = 0;
  let fail: (error: Error) => void = () => {};
  let isWell = false;
  const { lines, metrics } = await startExport(clock, 20, () => {
    readings += 1;
    return isWell
      ? Promise.resolve([gauge('own'), gauge('stored')])
      : new Promise((_, reject) => void (fail = reject));
  });
  for (let sent = 1; sent <= 2; sent++) {
    await until(async () => {
      await clock.advance(10);
      return bodies.length >= sent;
    });
  }
  assert.equal(readings, 1, 'one that hangs is waited for again');
  assert.doesNotMatch(bodies.join(), /stored/);
  fail(new Error('no connection'));
  isWell = true;
  await until(async () => {
    await clock.advance(10);
    return bodies.some((body) => body.includes('"name":"stored"'));
  });
  assert.match(lines[0]!, /^metrics of the store could not be exported: /);
  assert.equal(lines.at(-1), 'metrics of the store are exported again: undefined');
  await metrics.stopReading();
  await metrics.ended();
});
