// How the log is. While commits fail, `log` is Unhealthy, and a commit without events is tried again and again, ever
// more seldom, until one succeeds: so the service recovers by itself, also when nobody sends it anything.

import type { Check } from '../admin/health.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Sequencer } from './sequencer.ts';

export interface LogWatchOptions {
  readonly sequencer: Pick<Sequencer, 'figures' | 'probe'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

/** A disk that hangs fails no commit, and serves nobody either. */
const COMMIT_MS_MAX = 10_000;
const PACE_MS = 1000;
const BACK_OFF_MS = 500;
const BACK_OFF_MS_MAX = 30_000;

export function logCheck(sequencer: Pick<Sequencer, 'figures'>): Check {
  return {
    name: 'log',
    essential: true,
    async run() {
      const { failure, commitMs, waitingDrafts } = sequencer.figures();
      if (failure !== undefined) throw failure.error;
      if (commitMs > COMMIT_MS_MAX) {
        return {
          status: 'Unhealthy',
          description: `A commit has taken ${Math.round(commitMs / 1000)} s so far.`,
        };
      }
      return { status: 'Healthy', description: `Commits succeed; ${waitingDrafts} events wait for theirs.` };
    },
  };
}

export function startLogWatch({ sequencer, clock, random, telemetry }: LogWatchOptions): Loop {
  return startLoop({
    clock,
    random,
    paceMs: PACE_MS,
    backOffMs: BACK_OFF_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    async turn() {
      if (sequencer.figures().failure === undefined) return;
      await sequencer.probe();
      telemetry.info('the log can be written again');
    },
    onFailure({ error, failuresInARow, nextTurnInMs }) {
      telemetry.error('the log still cannot be written', error, { failuresInARow, nextTurnInMs });
    },
    onBroken: (error) => telemetry.error('the watch over the log has ended', error),
  });
}
