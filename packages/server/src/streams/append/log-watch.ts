// The health of the log. While commits fail, `log` is Unhealthy, and an empty commit is retried with growing pauses
// until one succeeds: so the service recovers even without traffic.

import type { Check } from '../../admin/health.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import type { Random } from '../../runtime/random.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { Checkpointer } from '../checkpoints/checkpointer.ts';
import type { Scrubber } from '../checkpoints/scrubber.ts';
import type { Sequencer } from './sequencer.ts';
import type { Witnessing } from '../witness/witnessing.ts';

export interface LogWatchOptions {
  readonly sequencer: Pick<Sequencer, 'figures' | 'probe'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

/** A disk that hangs fails no commit, but the log is unusable. */
const COMMIT_MS_MAX = 10_000;
const PACE_MS = 1000;
const BACK_OFF_MS = 500;
const BACK_OFF_MS_MAX = 30_000;

/** The parts that know the state of the log. */
export interface LogParts {
  readonly sequencer: Pick<Sequencer, 'figures'>;
  readonly checkpointer: Pick<Checkpointer, 'figures'>;
  /** Undefined: there are no witnesses. */
  readonly witnessing?: Pick<Witnessing, 'figures'> | undefined;
  readonly scrubber?: Pick<Scrubber, 'figures'>;
  readonly telemetry?: Pick<Telemetry, 'isAltered'>;
}

/** The report is public, so it has no figure that shows how much tenants send. */
export function logCheck({ sequencer, checkpointer, witnessing, scrubber, telemetry }: LogParts): Check {
  return {
    name: 'log',
    essential: true,
    async run() {
      const { failure, commitMs } = sequencer.figures();
      if (failure !== undefined) throw failure.error;
      if (commitMs > COMMIT_MS_MAX) {
        const description = `A commit has taken over ${COMMIT_MS_MAX / 1000} s so far.`;
        return { status: 'Unhealthy', description };
      }
      const checkpoints = checkpointer.figures();
      if (checkpoints.refusedTenants > 0) {
        return { status: 'Degraded', description: 'A log is refused; the diagnostics say which, and why.' };
      }
      if (checkpoints.failure !== undefined) {
        return { status: 'Degraded', description: 'Events are stored, but not signed at the moment.' };
      }
      if ((witnessing?.figures().contradictedLogs ?? 0) > 0) {
        const description = 'A witness has seen another log under our name; the diagnostics say which.';
        return { status: 'Degraded', description };
      }
      if ((scrubber?.figures().damagedLogs ?? 0) > 0) {
        const description =
          'What is stored of a log is not what was accepted, or was to be deleted; the diagnostics say which.';
        return { status: 'Degraded', description };
      }
      if (telemetry?.isAltered('Event') === true) {
        const description = 'An event that was read is not what was accepted; the diagnostics say which.';
        return { status: 'Degraded', description };
      }
      return { status: 'Healthy', description: 'No commit fails.' };
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
    onBroken: (error) => telemetry.error('the log watch has stopped', error),
  });
}
