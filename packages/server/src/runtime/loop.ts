// A loop takes turns: one, a pause, the next one. It promises that never two turns run at once, that `wake`
// cuts the pause short (or, during a turn, brings the next one at once), that failures are spaced out by a
// growing, jittered delay which `wake` does not shorten, and that disposal waits for the turn under way.
// A broken invariant (AssertionError) ends the loop: better to stand still than to build on what we doubt.

import { AssertionError } from 'node:assert';
import { type Clock, wait } from './clock.ts';
import type { Random } from './random.ts';

export interface LoopOptions {
  clock: Clock;
  random: Random;
  /** The pause after a turn that found nothing more to do. */
  paceMs: number;
  /** The pause before the first turn; undefined: none. */
  firstMs?: number;
  /** One turn. `'more'` asks for the next turn without a pause. The signal aborts when the loop is told to stop. */
  turn: (signal: AbortSignal) => Promise<'more' | void>;
  /** The delay after the first failure in a row, doubled for each further one up to the maximum. */
  backOffMs: number;
  backOffMsMax: number;
  /** Told of each failed turn and when the next one is due. */
  onFailure: (failure: { error: unknown; failuresInARow: number; nextTurnInMs: number }) => void;
  /** Told that the loop has ended because an assertion failed. */
  onBroken: (error: AssertionError) => void;
}

export interface Loop extends AsyncDisposable {
  wake(): void;
}

/** Failures of many loops, caused by one outage, must not come back in step. */
const JITTER = 0.2;

export function startLoop(options: LoopOptions): Loop {
  const { clock, random, paceMs } = options;
  const stop = new AbortController();
  let woken = false;
  let endRest = () => {};

  // Loops are woken thousands of times a second, so there is no signal for it.
  const rest = async (ms: number) => {
    if (woken || stop.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = clock.after(ms, resolve);
      endRest = () => {
        timer.cancel();
        resolve();
      };
    });
    endRest = () => {};
  };

  const run = async () => {
    let failuresInARow = 0;
    if (options.firstMs !== undefined) await rest(options.firstMs);
    while (!stop.signal.aborted) {
      woken = false;
      try {
        const found = await options.turn(stop.signal);
        failuresInARow = 0;
        if (found === 'more') await nextTick();
        else await rest(paceMs);
      } catch (error) {
        if (error instanceof AssertionError) return options.onBroken(error);
        if (stop.signal.aborted) return;
        failuresInARow += 1;
        const nextTurnInMs = backOffMs(options, failuresInARow, random);
        options.onFailure({ error, failuresInARow, nextTurnInMs });
        await wait(clock, nextTurnInMs, stop.signal);
      }
    }
  };

  const ended = run();
  return {
    wake() {
      woken = true;
      endRest();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      endRest();
      await ended;
    },
  };
}

/** Doubled for each further failure in a row, and never in step with others. */
export function backOffMs(
  limits: Pick<LoopOptions, 'backOffMs' | 'backOffMsMax'>,
  failuresInARow: number,
  random: Random,
): number {
  const plainMs = Math.min(limits.backOffMs * 2 ** (failuresInARow - 1), limits.backOffMsMax);
  return Math.round(plainMs * (1 + JITTER * (2 * random.fraction() - 1)));
}

/** A loop with much to do lets the rest of the process have its turn too. */
function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
