// Removes idempotency keys whose window has ended, one portion per turn, so that they do not pile up and no append
// waits long for a sweep.

import type { Clock } from '../../runtime/clock.ts';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import type { Random } from '../../runtime/random.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { LogWriter } from '../log.ts';

export interface IdempotencyKeySweeperOptions {
  readonly writer: Pick<LogWriter, 'sweepUsedKeys'>;
  readonly steadyNowMs: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

const PACE_MS = 5 * 60_000;
const BACK_OFF_MS = 10_000;

export function startIdempotencyKeySweeper({
  writer,
  steadyNowMs,
  clock,
  random,
  telemetry,
}: IdempotencyKeySweeperOptions): Loop {
  return startLoop({
    clock,
    random,
    paceMs: PACE_MS,
    backOffMs: BACK_OFF_MS,
    backOffMsMax: PACE_MS,
    turn: async () => ((await writer.sweepUsedKeys(steadyNowMs())) ? 'more' : undefined),
    onFailure: ({ error }) =>
      telemetry.warn('expired idempotency keys could not be removed', { cause: String(error) }),
    onBroken: (error) => telemetry.error('the idempotency key sweeper has stopped', error),
  });
}
