// The metrics of what health watches.

import type { Metric } from '@tallystick/contract';
import type { Progress } from '../followers/progress.ts';
import { gauge, known } from './metrics.ts';

export interface WatchFigures {
  /** By the label that they have in metrics. */
  readonly followers: Readonly<Record<string, Pick<Progress, 'lagMs' | 'pendingEvents'>>>;
  readonly spaces: readonly { readonly name: string; readonly freeBytes: number | undefined }[];
  readonly stuckKinds: number;
  readonly clockOffsetMs: number | undefined;
  readonly certificateEndsAtMs: number | undefined;
}

export function watchMetrics(figures: WatchFigures): Metric[] {
  const { followers, spaces, stuckKinds, clockOffsetMs, certificateEndsAtMs } = figures;
  const ofFollowers = (
    name: string,
    help: string,
    valueOf: (each: WatchFigures['followers'][string]) => number,
  ) => ({
    name,
    type: 'Gauge' as const,
    help,
    samples: Object.entries(followers).map(([follower, each]) => ({
      labels: { follower },
      value: valueOf(each),
    })),
  });
  return [
    ofFollowers(
      'tallystick_follower_lag_seconds',
      'How long the oldest entry of a log that a follower has not taken has waited.',
      ({ lagMs }) => lagMs / 1000,
    ),
    ofFollowers(
      'tallystick_follower_pending_events',
      'Entries of logs that a follower has not taken.',
      ({ pendingEvents }) => pendingEvents,
    ),
    gauge('tallystick_job_kinds_stuck', 'Kinds of background jobs that make no progress.', stuckKinds),
    {
      name: 'tallystick_disk_free_bytes',
      type: 'Gauge',
      help: 'Free disk space, by place.',
      samples: spaces.flatMap(({ name, freeBytes }) =>
        freeBytes === undefined ? [] : [{ labels: { place: name }, value: freeBytes }],
      ),
    },
    known(
      'tallystick_clock_offset_seconds',
      'How far the clock is ahead of the database.',
      inSeconds(clockOffsetMs),
    ),
    known(
      'tallystick_certificate_end_seconds',
      'When the certificate of the service ends.',
      inSeconds(certificateEndsAtMs),
    ),
  ];
}

function inSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
