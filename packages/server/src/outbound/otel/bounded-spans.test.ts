import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { BoundedSpans } from './bounded-spans.ts';

/** The queue of the SDK, before a receiver that answers when it is told to. */
function build(spansMax: number) {
  const clock = createFakeClock();
  const lines: unknown[] = [];
  const note = (message: string, facts = {}) => void lines.push([message, facts]);
  const bounded = new BoundedSpans({ spansMax, clock, telemetry: { warn: note, info: note } });
  const taken: { readonly spans: readonly ReadableSpan[]; readonly done: (result: ExportResult) => void }[] =
    [];
  const exporter = bounded.around({
    export: (spans, done) => void taken.push({ spans, done }),
    shutdown: () => Promise.resolve(),
  });
  const queue = new BatchSpanProcessor({ exporter, maxQueueSize: spansMax, maxExportBatchSize: spansMax });
  const provider = new TracerProvider({ spanProcessors: [bounded.before(queue)] });
  const tracer = provider.getTracer('test');
  const end = (count: number) => {
    for (let i = 0; i < count; i++) tracer.startSpan('work').end();
  };
  const answer = (result: ExportResult) => taken.shift()?.done(result);
  return { bounded, clock, lines, taken, end, answer };
}

const TAKEN = { code: ExportResultCode.SUCCESS };
const REFUSED = { code: ExportResultCode.FAILED, error: new Error('connect ECONNREFUSED') };

test('so many spans wait at most, those under way among them, and the others are counted', () => {
  const { bounded, taken, end, answer } = build(10);
  end(14);
  assert.deepEqual(bounded.counts(), { Exported: 0, Failed: 0, Dropped: 4 });
  assert.equal(taken[0]?.spans.length, 10, 'they are under way, so the queue of the SDK is empty');
  end(5);
  assert.deepEqual(bounded.counts(), { Exported: 0, Failed: 0, Dropped: 9 });
  answer(TAKEN);
  assert.deepEqual(bounded.counts(), { Exported: 10, Failed: 0, Dropped: 9 });
  end(3);
  assert.deepEqual(bounded.counts().Dropped, 9, 'there is room again');
});

test('a receiver that is away is told of once a minute, and when it is back', async () => {
  const { bounded, clock, lines, end, answer } = build(1);
  const next = async (result: ExportResult) => {
    end(1);
    answer(result);
    // The SDK hands over the next batch after this one is settled.
    await new Promise((resolve) => setImmediate(resolve));
  };
  await next(REFUSED);
  await next(REFUSED);
  assert.deepEqual(lines, [
    ['traces could not be exported', { failed: 1, dropped: 0, reason: 'connect ECONNREFUSED' }],
  ]);
  await clock.advance(60_000);
  await next(REFUSED);
  await next(TAKEN);
  assert.deepEqual(lines.slice(1), [
    ['traces could not be exported', { failed: 3, dropped: 0, reason: 'connect ECONNREFUSED' }],
    ['traces are exported again', {}],
  ]);
  assert.deepEqual(bounded.counts(), { Exported: 1, Failed: 3, Dropped: 0 });
});
