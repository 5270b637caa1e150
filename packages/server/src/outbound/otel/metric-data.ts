// The metrics that Prometheus is shown, as OTLP has them: the same names, values and labels. Histograms count what is within each
// bucket there, not what is within its bound. Summaries are left out: OTLP keeps them for old sources only, the SDK has none, and
// the histogram of requests has what is in ours.

import { type HrTime, ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import type { Metric, MetricSample } from '@tallystick/contract';

/** Counters, sums and buckets count from the beginning. */
export interface Span {
  readonly beganMs: number;
  readonly nowMs: number;
}

export function metricData(metrics: readonly Metric[], span: Span): MetricData[] {
  return metrics.flatMap((metric) => dataOf(metric, span));
}

function dataOf(metric: Metric, span: Span): MetricData[] {
  const common = {
    descriptor: {
      name: metric.name,
      description: metric.help,
      unit: unitOf(metric.name),
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  switch (metric.type) {
    case 'Counter':
      return [
        { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points(metric, span) },
      ];
    case 'Gauge':
      return [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints: points(metric, span) }];
    case 'Histogram':
      return [{ ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(metric, span) }];
    case 'Summary':
      return [];
  }
}

function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's';
  return name.endsWith('_bytes') ? 'By' : '';
}

const timesOf = ({ beganMs, nowMs }: Span) => ({ startTime: hrTime(beganMs), endTime: hrTime(nowMs) });

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
}

function points({ samples }: Metric, span: Span) {
  return samples.map(({ labels, value }) => ({ ...timesOf(span), attributes: labels, value }));
}

function histograms({ samples }: Metric, span: Span) {
  const series = new Map<
    string,
    { readonly attributes: MetricSample['labels']; readonly of: MetricSample[] }
  >();
  for (const sample of samples) {
    const { le: _, ...attributes } = sample.labels;
    const key = JSON.stringify(attributes);
    const known = series.get(key) ?? { attributes, of: [] };
    known.of.push(sample);
    series.set(key, known);
  }
  return [...series.values()].map(({ attributes, of }) => ({
    ...timesOf(span),
    attributes,
    value: histogramOf(of),
  }));
}

function histogramOf(samples: readonly MetricSample[]) {
  const valueOf = (suffix: string) => samples.find((sample) => sample.suffix === suffix)?.value ?? 0;
  const within = samples.filter(({ suffix }) => suffix === '_bucket');
  return {
    buckets: {
      boundaries: within.slice(0, -1).map(({ labels }) => Number(labels['le'])),
      counts: within.map(({ value }, i) => value - (within[i - 1]?.value ?? 0)),
    },
    sum: valueOf('_sum'),
    count: valueOf('_count'),
  };
}
