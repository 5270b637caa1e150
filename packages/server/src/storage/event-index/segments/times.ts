// Times as the index keeps them.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** A moment as it is kept: milliseconds since 1970, and the nanoseconds beyond. */
export interface Moment {
  readonly atMs: number;
  readonly atNs: number;
}

const SECONDS_END = '2026-01-02T03:04:05'.length;

/** Of an instant in UTC. */
export function momentOf(timestamp: string): Moment {
  const nanoseconds = Math.round(Number(`0${timestamp.slice(SECONDS_END, -1)}`) * 1e9);
  const ms = Math.floor(nanoseconds / 1e6);
  return { atMs: Date.parse(`${timestamp.slice(0, SECONDS_END)}Z`) + ms, atNs: nanoseconds - ms * 1e6 };
}

export function compareMoments(a: Moment, b: Moment): number {
  return a.atMs - b.atMs || a.atNs - b.atNs;
}
