// The metrics of the whole process, for its operators: the work of all tenants together, and the state of the logs.

import type { Metric } from '@tallystick/contract';
import type { Checkpointer } from '../streams/checkpoints/checkpointer.ts';
import type { Scrubber } from '../streams/checkpoints/scrubber.ts';
import type { Sequencer } from '../streams/append/sequencer.ts';
import type { SpanCounts } from '../telemetry/tracing.ts';
import type { Witnessing } from '../streams/witness/witnessing.ts';
import { levelMetrics } from './level-metrics.ts';
import type { Levels } from './levels.ts';
import type { Meter } from './meter.ts';
import { type Figures, gauge, histogramSamples, sharedMetrics, workMetrics } from './metrics.ts';
import { type WatchFigures, watchMetrics } from './watch-metrics.ts';
import type { Work } from './work-figures.ts';

export interface ProcessParts {
  readonly meter: Pick<Meter, 'requestDurations' | 'commitDurations' | 'deliveryDurations'>;
  readonly sequencer: Pick<Sequencer, 'figures'>;
  readonly checkpointer: Pick<Checkpointer, 'figures'>;
  /** Undefined: there are no witnesses. */
  readonly witnessing: Pick<Witnessing, 'figures'> | undefined;
  readonly scrubber: Pick<Scrubber, 'figures'>;
  /** Undefined: nothing is traced. */
  readonly spans: (() => SpanCounts) | undefined;
  readonly watches: { readonly figures: () => WatchFigures; readonly levels: Pick<Levels, 'ofProcess'> };
  readonly build: { readonly version: string; readonly commit: string | undefined };
  readonly startedAtMs: number;
}

/** The figures of one moment; without those of the store where it cannot be asked. */
export type KnownFigures = Figures | Pick<Figures, 'work'>;

/** `usage`: what the process uses of its machine. */
export function processMetrics(
  figures: KnownFigures,
  parts: ProcessParts,
  usage: readonly Metric[],
): Metric[] {
  return [
    ...programMetrics(parts),
    ...usage,
    ...('deliveries' in figures ? sharedMetrics(figures) : workMetrics(figures.work)),
    ...durationMetrics(parts),
    ...logMetrics(parts),
    spanMetric(parts),
    ...watchMetrics(parts.watches.figures()),
    ...levelMetrics(parts.watches.levels.ofProcess()),
  ];
}

function spanMetric({ spans }: ProcessParts): Metric {
  const counts = Object.entries(spans?.() ?? {}) as [keyof SpanCounts, number][];
  return {
    name: 'tallystick_spans_total',
    type: 'Counter',
    help: 'Spans of traces, by what came of their export.',
    samples: counts.map(([outcome, value]) => ({ labels: { outcome }, value })),
  };
}

function programMetrics({ build, startedAtMs }: ProcessParts): Metric[] {
  const { version, commit } = build;
  return [
    {
      name: 'tallystick_build_info',
      type: 'Gauge',
      help: 'Which program this is.',
      samples: [{ labels: { version, ...(commit === undefined ? {} : { commit }) }, value: 1 }],
    },
    gauge('tallystick_start_time_seconds', 'When the service was started.', startedAtMs / 1000),
  ];
}

function durationMetrics({ meter }: ProcessParts): Metric[] {
  const works: readonly Work[] = ['ingest', 'query', 'other'];
  return [
    {
      name: 'tallystick_request_duration_seconds',
      type: 'Histogram',
      help: 'Requests that were not refused, by kind of work, since the start.',
      samples: works.flatMap((work) => histogramSamples(meter.requestDurations[work], { work })),
    },
    {
      name: 'tallystick_commit_duration_seconds',
      type: 'Histogram',
      help: 'Commits of events, since the start.',
      samples: histogramSamples(meter.commitDurations),
    },
    {
      name: 'tallystick_delivery_duration_seconds',
      type: 'Histogram',
      help: 'Attempts to deliver to consumers of webhooks, since the start.',
      samples: histogramSamples(meter.deliveryDurations),
    },
  ];
}

function logMetrics({ sequencer, checkpointer, witnessing, scrubber }: ProcessParts): Metric[] {
  const { waitingDrafts, commitMs, failure } = sequencer.figures();
  const checkpoints = checkpointer.figures();
  const witnesses = witnessing?.figures() ?? { openLogs: 0, contradictedLogs: 0 };
  return [
    gauge('tallystick_drafts_waiting', 'Drafts that are not durable yet.', waitingDrafts),
    gauge(
      'tallystick_commit_age_seconds',
      'How long the oldest commit under way has taken so far.',
      commitMs / 1000,
    ),
    gauge(
      'tallystick_commits_failing',
      '1 since a commit has failed, until one succeeds.',
      failure === undefined ? 0 : 1,
    ),
    gauge(
      'tallystick_checkpoints_failing',
      '1 while events are stored and cannot be signed.',
      checkpoints.failure === undefined ? 0 : 1,
    ),
    gauge('tallystick_logs_refused', 'Logs to which nothing may be appended.', checkpoints.refusedTenants),
    gauge(
      'tallystick_logs_damaged',
      'Logs with stored data that differs from what was accepted.',
      scrubber.figures().damagedLogs,
    ),
    gauge(
      'tallystick_logs_contradicted',
      'Logs that contradict what a witness has seen.',
      witnesses.contradictedLogs,
    ),
    gauge(
      'tallystick_logs_unwitnessed',
      'Logs whose newest checkpoint waits for witnesses.',
      witnesses.openLogs,
    ),
  ];
}
