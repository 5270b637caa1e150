// The metrics that a tenant and the process have in common: requests, durations, backlogs. The names are the same for both,
// so that a dashboard made for one fits the other.

import type { Metric, MetricSample, ServiceIndicators } from '@tallystick/contract';
import { BOUNDS, type DurationHistogram } from './duration-histogram.ts';
import type { ProjectionFigures } from './projections.ts';
import type { Latencies, WorkFigures } from './work-figures.ts';

/** The figures of one moment, of a tenant or of the process. */
export interface Figures {
  readonly work: WorkFigures;
  readonly projections: readonly ProjectionFigures[];
  readonly deadLetters: number;
  readonly deliveries: DeliveryFigures;
}

/** Of webhook deliveries, at this moment. */
export interface DeliveryFigures {
  readonly queued: number;
  /** For how long the first one that is due has waited. */
  readonly waitingMs: number;
  readonly openCircuits: number;
  readonly failedSubscriptions: number;
}

const NOTHING_LATELY = { p50: 0, p95: 0, p99: 0 };

export function indicatorsOf({ work, projections, deadLetters }: Figures): ServiceIndicators {
  return {
    ingestLatencyMs: work.ingest.lately?.percentiles ?? NOTHING_LATELY,
    queryLatencyMs: work.query.lately?.percentiles ?? NOTHING_LATELY,
    projectionLagMs: Math.max(0, ...projections.map(({ lagMs }) => lagMs)),
    deadLetters,
    eventsAccepted: work.eventsAccepted,
  };
}

export function sharedMetrics(figures: Figures): Metric[] {
  return [...workMetrics(figures.work), ...storedMetrics(figures)];
}

/** What the process counts by itself. */
export function workMetrics(work: WorkFigures): Metric[] {
  return [
    {
      name: 'tallystick_requests_total',
      type: 'Counter',
      help: 'Requests by operation and by kind of status.',
      samples: work.requests.map(({ operation, status, count }) => ({
        labels: { operation, status },
        value: count,
      })),
    },
    counter('tallystick_events_accepted_total', 'Events that were made durable.', work.eventsAccepted),
    summary(
      'tallystick_ingest_duration_seconds',
      'Sending events; quantiles of the last minutes.',
      work.ingest,
    ),
    summary(
      'tallystick_query_duration_seconds',
      'Reading events; quantiles of the last minutes.',
      work.query,
    ),
    {
      name: 'tallystick_delivery_attempts_total',
      type: 'Counter',
      help: 'Attempts to deliver to consumers of webhooks, by what came of them.',
      samples: work.deliveryAttempts.map(({ outcome, count }) => ({ labels: { outcome }, value: count })),
    },
  ];
}

/** What the store has to be asked for. */
function storedMetrics({ projections, deadLetters, deliveries }: Figures): Metric[] {
  const ofEach = (valueOf: (projection: ProjectionFigures) => number): MetricSample[] =>
    projections.map((each) => ({ labels: { projection: each.name }, value: valueOf(each) }));
  return [
    gauge('tallystick_dead_letters', 'Messages that are out of attempts.', deadLetters),
    ...deliveryMetrics(deliveries),
    {
      name: 'tallystick_projection_lag_seconds',
      type: 'Gauge',
      help: 'How far a projection is behind the log.',
      samples: ofEach(({ lagMs }) => lagMs / 1000),
    },
    {
      name: 'tallystick_projection_pending_events',
      type: 'Gauge',
      help: 'Events in the log that a projection does not have yet.',
      samples: ofEach(({ pendingEvents }) => pendingEvents),
    },
  ];
}

function deliveryMetrics(now: DeliveryFigures): Metric[] {
  return [
    gauge(
      'tallystick_deliveries_queued',
      'Deliveries that are neither acknowledged nor dead letters.',
      now.queued,
    ),
    gauge(
      'tallystick_deliveries_waiting_seconds',
      'For how long the first delivery that is due has waited for its attempt.',
      now.waitingMs / 1000,
    ),
    gauge('tallystick_circuits_open', 'Subscriptions that rest after failures.', now.openCircuits),
    gauge(
      'tallystick_subscriptions_failed',
      'Subscriptions that have failed, until somebody resumes them.',
      now.failedSubscriptions,
    ),
  ];
}

export function gauge(name: string, help: string, value: number): Metric {
  return { name, type: 'Gauge', help, samples: [{ labels: {}, value }] };
}

/** What is not known, or not there, has no sample. */
export function known(name: string, help: string, value: number | undefined): Metric {
  return { name, type: 'Gauge', help, samples: value === undefined ? [] : [{ labels: {}, value }] };
}

export function counter(name: string, help: string, value: number): Metric {
  return { name, type: 'Counter', help, samples: [{ labels: {}, value }] };
}

/** Quantiles of a time without requests are left out: they would not be 0. */
function summary(name: string, help: string, { lately, count, sumSeconds }: Latencies): Metric {
  const quantiles =
    lately === undefined
      ? []
      : [
          [0.5, lately.percentiles.p50] as const,
          [0.95, lately.percentiles.p95] as const,
          [0.99, lately.percentiles.p99] as const,
        ];
  return {
    name,
    type: 'Summary',
    help,
    samples: [
      ...quantiles.map(([quantile, ms]) => ({ labels: { quantile: String(quantile) }, value: ms / 1000 })),
      { suffix: '_sum', labels: {}, value: sumSeconds },
      { suffix: '_count', labels: {}, value: count },
    ],
  };
}

/** The samples of one histogram, with the labels that tell it from others under the same name. */
export function histogramSamples(
  histogram: DurationHistogram,
  labels: Readonly<Record<string, string>> = {},
): MetricSample[] {
  const { count, sumSeconds } = histogram;
  const within = histogram.within();
  return [
    ...BOUNDS.map((bound, i) => ({
      suffix: '_bucket',
      labels: { ...labels, le: String(bound) },
      value: within[i]!,
    })),
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels: { ...labels }, value: sumSeconds },
    { suffix: '_count', labels: { ...labels }, value: count },
  ];
}
