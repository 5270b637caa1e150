// What health knows without being asked: each watch measures something every few seconds, and checks show what it has found.
// So a report costs the same however often it is asked for, and whatever is wrong.

import type { HealthReport } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import { waitFor } from '../runtime/deadline.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Check } from './health.ts';

/** Public: it says what is wrong and what to do, and names no tenant and no path. */
export interface Finding {
  readonly status: Exclude<HealthReport['status'], 'Healthy'>;
  readonly description: string;
}

export interface Watch {
  /** For diagnostics. */
  readonly name: string;
  measure(): Promise<void> | void;
  /** By the last measurement. */
  findings(): readonly Finding[];
}

const PACE_MS = 5000;
const BACK_OFF_MS = 5000;
const BACK_OFF_MS_MAX = 60_000;

export interface WatchParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'warn' | 'error'>;
}

const MEASURE_MS_MAX = 30_000;
const PATIENCE = {
  // Longer than a measurement takes that will end.
  timeoutMs: MEASURE_MS_MAX,
  tooLate: () => new Error(`it is not done after ${MEASURE_MS_MAX / 1000} s`),
  // A file system that hangs must not hold up a stop.
  lastMs: 1000,
};

/** Each has a loop of its own: a measurement that hangs holds up no other. */
export function startWatches(
  watches: readonly Watch[],
  { clock, random, telemetry }: WatchParts,
): AsyncDisposable {
  const loops = new AsyncDisposableStack();
  for (const watch of watches) loops.use(startWatch(watch));
  return loops;

  function startWatch(watch: Watch): Loop {
    const { name } = watch;
    // Begun once and waited for again, because each that hangs in the file system holds a thread of the process.
    let underWay: Promise<void> | undefined;
    return startLoop({
      clock,
      random,
      paceMs: PACE_MS,
      backOffMs: BACK_OFF_MS,
      backOffMsMax: BACK_OFF_MS_MAX,
      turn: (signal) => {
        underWay ??= begin(watch).finally(() => (underWay = undefined));
        return waitFor(underWay, clock, { ...PATIENCE, stop: signal });
      },
      onFailure: ({ error }) => telemetry.warn(`${name} could not be measured`, { cause: String(error) }),
      onBroken: (error) => telemetry.error(`${name} is no longer measured`, error),
    });
  }
}

async function begin(watch: Watch): Promise<void> {
  await watch.measure();
}

/** The check and what the watches have found: the worst of them decides, and all of them are told. */
export function withFindings(check: Check, ...watches: readonly Pick<Watch, 'findings'>[]): Check {
  return {
    ...check,
    async run() {
      const report = await check.run();
      const found = watches.flatMap((watch) => watch.findings());
      if (found.length === 0) return report;
      const all = report.status === 'Healthy' ? found : [report, ...found];
      return {
        status: all.some(({ status }) => status === 'Unhealthy') ? 'Unhealthy' : 'Degraded',
        description: all.flatMap(({ description }) => description ?? []).join(' '),
      };
    },
  };
}
