// A length of time: on the command line a number and a letter, such as 90d, 24h, 30m or 45s; for people in words.

import { CannotRun } from '../cannot-run.ts';

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
const SECONDS_MAX = 100 * 365 * 86_400;

/** Whole seconds; `option` is named when the text is none. */
export function secondsIn(text: string, option: string): number {
  const match = /^(\d{1,10})([smhd])$/.exec(text);
  const seconds = match === null ? Number.NaN : Number(match[1]) * SECONDS[match[2] as keyof typeof SECONDS];
  if (seconds <= SECONDS_MAX) return seconds;
  throw new CannotRun(
    `${option} is ${JSON.stringify(text.slice(0, 80))}; allowed: such as 90d, 24h, 30m or 45s`,
  );
}

export function positiveSecondsIn(text: string, option: string): number {
  const seconds = secondsIn(text, option);
  if (seconds > 0) return seconds;
  throw new CannotRun(`${option} is ${text}; it must be longer than that`);
}

/** As people say it, in at most two units: 42 s, 3 min 20 s, 1 h 5 min, 2 d 3 h. */
export function shownLength(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.ceil(seconds / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
