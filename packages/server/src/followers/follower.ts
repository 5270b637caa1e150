// The loop of every follower: one portion after the other while there are any, then a pause that an append cuts short.
// After a failure it waits, longer each time. Events that were set aside are reported. Appending comes first: while it is
// busy, a follower that is not far behind waits.

import { type Clock, wait } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { FollowerWork } from './follower-work.ts';
import { FollowerProgress, type Progress } from './progress.ts';
import { traceFollower } from './traced-follower.ts';

export interface FollowerParts {
  /** For diagnostics. */
  readonly name: string;
  readonly work: FollowerWork;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'error' | 'warn'>;
  readonly tracing?: Tracing | undefined;
  /** Whether appending is busy; undefined: never. */
  readonly isPressed?: () => boolean;
}

export interface Follower extends AsyncDisposable {
  /** For diagnostics. */
  readonly name: string;
  /** Starts the loop. */
  start(): void;
  /** Something was appended. */
  wake(): void;
  /** The failure since which no turn has succeeded. */
  failure(): unknown;
  progress(): Progress;
}

/** It also looks without a wake-up, for events that another process appended, or that came while it failed. */
const PACE_MS = 1000;
/** Events are found before they are in a segment, so nobody waits for one. */
const GATHER_MS = 500;
/**
 * A caller waits for an append and nobody for a follower: so it may wait for so long, and looks again so often. Well below
 * the five seconds that views may be behind.
 */
const STAND_BACK_MS_MAX = 2000;
const LOOK_MS = 25;
const BACK_OFF_MS = 100;
const BACK_OFF_MS_MAX = 30_000;

export function createFollower(parts: FollowerParts): Follower {
  const { name, clock, random, telemetry, tracing, isPressed = () => false } = parts;
  const work = tracing === undefined ? parts.work : traceFollower(name, parts.work, tracing, clock);
  let failure: unknown;
  const progress = new FollowerProgress(clock);
  let loop: Loop | undefined;
  /** The time of the first wake-up since it last caught up. */
  let behindNs: number | undefined;
  const standBack = async (sinceNs: number, signal: AbortSignal) => {
    const endNs = sinceNs + STAND_BACK_MS_MAX * 1e6;
    while (isPressed() && clock.monotonicNs() < endNs && !signal.aborted) await wait(clock, LOOK_MS, signal);
  };
  const start = () => {
    loop ??= startLoop({
      clock,
      random,
      paceMs: PACE_MS,
      backOffMs: BACK_OFF_MS,
      backOffMsMax: BACK_OFF_MS_MAX,
      async turn(signal) {
        const sinceNs = behindNs ?? clock.monotonicNs();
        await standBack(sinceNs, signal);
        if (signal.aborted) return;
        behindNs = undefined;
        progress.turnBegins();
        const turn = await work.turn();
        progress.turnEnded(turn);
        const { isMore, setAside } = turn;
        failure = undefined;
        // It has not caught up since then: after STAND_BACK_MS_MAX it no longer stands back until it has.
        if (isMore) behindNs = sinceNs;
        const [first] = setAside;
        if (first !== undefined) {
          telemetry.warn(`${name}: events are set aside`, { count: setAside.length, ...first });
        }
        if (isMore) return 'more';
        // Events that arrive one by one are taken together: a turn costs as much as many events.
        await wait(clock, GATHER_MS, signal);
        return undefined;
      },
      onFailure({ error, failuresInARow, nextTurnInMs }) {
        failure = error;
        progress.turnFailed();
        telemetry.error(`${name} could not follow the log`, error, { failuresInARow, nextTurnInMs });
      },
      onBroken(error) {
        failure = error;
        telemetry.error(`${name} has stopped following the log`, error);
      },
    });
  };
  return {
    name,
    start,
    wake() {
      behindNs ??= clock.monotonicNs();
      loop?.wake();
    },
    failure: () => failure,
    progress: () => progress.now(),
    async [Symbol.asyncDispose]() {
      await loop?.[Symbol.asyncDispose]();
    },
  };
}
