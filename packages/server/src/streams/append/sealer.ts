// Seals idle streams that have reached their age, one portion per turn. An append seals its own stream, so this loop
// only affects how soon an idle stream is closed.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import type { Random } from '../../runtime/random.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { LogWriter, StreamLimits } from '../log.ts';

export interface SealerOptions {
  readonly writer: Pick<LogWriter, 'sealAged'>;
  readonly streams: StreamLimits;
  /** Tenants whose logs must not be continued, not even by a seal. */
  readonly refusedTenants?: () => readonly TenantId[];
  readonly steadyNowMs: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

const PACE_MS_MAX = 60_000;
const PACE_MS_MIN = 1000;
const BACK_OFF_MS = 10_000;
const BACK_OFF_MS_MAX = 5 * 60_000;

export function startSealer(options: SealerOptions): Loop {
  const { writer, streams, refusedTenants, steadyNowMs, clock, random, telemetry } = options;
  return startLoop({
    clock,
    random,
    paceMs: Math.max(PACE_MS_MIN, Math.min(PACE_MS_MAX, streams.sealAfter.ms)),
    backOffMs: BACK_OFF_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    turn: async () => {
      const now = { nowMs: clock.now(), steadyNowMs: steadyNowMs() };
      const hasMore = await writer.sealAged(now, refusedTenants?.());
      return hasMore ? 'more' : undefined;
    },
    onFailure: ({ error }) => telemetry.warn('streams could not be sealed', { cause: String(error) }),
    onBroken: (error) => telemetry.error('the stream sealer has stopped', error),
  });
}
