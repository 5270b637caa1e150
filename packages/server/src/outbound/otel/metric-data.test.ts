import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import { DurationHistogram } from '../../admin/duration-histogram.ts';
import { histogramSamples } from '../../admin/metrics.ts';
import { metricData } from './metric-data.ts';

const SPAN = { beganMs: 1_700_000_000_250, nowMs: 1_700_000_060_000 };

test('counters and gauges keep name, value and labels, with their unit and the time they count from', () => {
  const samples = [{ labels: { kind: 'a' }, value: 3 }];
  const [counter, gauge] = metricData(
    [
      { name: 'x_seconds_total', type: 'Counter', help: 'Of x.', samples },
      { name: 'y_bytes', type: 'Gauge', help: 'Of y.', samples: [] },
    ],
    SPAN,
  );
  assert.deepEqual([counter?.descriptor.name, counter?.descriptor.unit], ['x_seconds_total', 's']);
  assert.equal(counter?.aggregationTemporality, AggregationTemporality.CUMULATIVE);
  assert.deepEqual(counter?.dataPoints, [
    {
      startTime: [1_700_000_000, 250_000_000],
      endTime: [1_700_000_060, 0],
      attributes: { kind: 'a' },
      value: 3,
    },
  ]);
  assert.deepEqual([gauge?.dataPointType, gauge?.descriptor.unit], [DataPointType.GAUGE, 'By']);
});

test('a histogram counts what is within each bucket, one for each of its labels', () => {
  const [slow, fast] = [new DurationHistogram(), new DurationHistogram()];
  for (const ms of [0.1, 3, 3, 70_000]) slow.note(ms * 1e6);
  fast.note(1e5);
  const samples = [...histogramSamples(slow, { work: 'slow' }), ...histogramSamples(fast, { work: 'fast' })];
  const [data] = metricData([{ name: 'h_seconds', type: 'Histogram', help: 'Of h.', samples }], SPAN);
  assert.ok(data?.dataPointType === DataPointType.HISTOGRAM);
  assert.deepEqual(
    data.dataPoints.map(({ attributes }) => attributes),
    [{ work: 'slow' }, { work: 'fast' }],
  );
  const { buckets, count, sum } = data.dataPoints[0]!.value;
  assert.deepEqual([count, sum], [4, 70.0061]);
  assert.equal(buckets.counts.length, buckets.boundaries.length + 1);
  assert.equal(
    buckets.counts.reduce((all, each) => all + each),
    4,
  );
  assert.equal(buckets.counts[buckets.boundaries.indexOf(0.005)], 2, 'over 2.5 ms, at most 5 ms');
  assert.equal(buckets.counts.at(-1), 1, 'over all bounds');
});

test('a summary has no form in OTLP', () => {
  const samples = [{ labels: { quantile: '0.5' }, value: 1 }];
  assert.deepEqual(metricData([{ name: 's', type: 'Summary', help: 'Of s.', samples }], SPAN), []);
});
