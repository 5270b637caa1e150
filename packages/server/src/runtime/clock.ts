// Time, handed in. Everything in the server that reads a clock or waits does it through a Clock, so that a
// test can hold time still, move it, or turn it back. The wall clock may jump; the monotonic one never does.

import { RECEIVED_AT_MS_MAX } from '@tallystick/evidence';

/** Something that will happen later and may be called off. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall clock: whole milliseconds since 1970-01-01T00:00:00Z. May jump either way. */
  now(): number;
  /** Nanoseconds since an arbitrary moment. Never goes back; for measuring spans only. */
  monotonicNs(): number;
  /** Runs `run` once, `delayMs` from now. */
  after(delayMs: number, run: () => void): Timer;
}

/** Node fires a timer at once when it is asked for more than this, so longer waits are taken in stages. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicNs: () => Math.round(performance.now() * 1e6),
  after(delayMs, run) {
    let remainingMs = delayMs;
    let handle: NodeJS.Timeout;
    const arm = () => {
      const stageMs = Math.min(remainingMs, TIMER_MS_MAX);
      remainingMs -= stageMs;
      handle = setTimeout(() => (remainingMs > 0 ? arm() : run()), stageMs);
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs`, or as soon as `signal` aborts: the caller then looks at the signal. */
export function wait(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.after(delayMs, done);
    signal?.addEventListener('abort', done);
  });
}

/** The end of the year 9999: later instants have no text in the interface, and no place in an entry. */
export const LATEST_MS = RECEIVED_AT_MS_MAX;

const DAY_MS = 86_400_000;
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
/** By day, what stands before the time: events that are shown together are of few days. */
const dates = new Map<number, string>();
const DATES_MAX = 1000;

/** An instant as the interface shows it: UTC, milliseconds, `Z`. */
export function instant(unixMs: number): string {
  const day = Math.floor(unixMs / DAY_MS);
  const date = dates.get(day);
  if (date === undefined || !Number.isInteger(unixMs)) {
    const text = new Date(unixMs).toISOString();
    if (dates.size >= DATES_MAX) dates.clear();
    dates.set(day, text.slice(0, -'00:00:00.000Z'.length));
    return text;
  }
  const ms = unixMs - day * DAY_MS;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const time = `${TWO_DIGITS[hours]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}`;
  return `${date}${time}.${String(1000 + (ms % 1000)).slice(1)}Z`;
}
