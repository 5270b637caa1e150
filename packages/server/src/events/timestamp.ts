// When the action of an event occurred: kept in UTC, written `YYYY-MM-DDThh:mm:ss.fZ` with the fraction as it was
// sent, up to nine digits (none becomes `.000`), and hashed in that form. All texts here are valid date-times of the
// contract.

import { LIMITS } from '@tallystick/contract';
import { instant } from '../runtime/clock.ts';

/** Up to the seconds: `2026-01-02T03:04:05`. */
const SECONDS_END = 19;
/** Up to the minutes. */
const MINUTES_END = 16;
const MINUTE_MS = 60_000;

export function utcTimestamp(text: string): string {
  const isUtc = text.endsWith('Z') || text.endsWith('z');
  const zoneAt = isUtc ? text.length - 1 : text.length - '+00:00'.length;
  const fraction = zoneAt > SECONDS_END ? text.slice(SECONDS_END, zoneAt) : '.000';
  if (isUtc && text[10] === 'T') return `${text.slice(0, SECONDS_END)}${fraction}Z`;
  const shiftMs = isUtc ? 0 : offsetMinutes(text.slice(zoneAt)) * MINUTE_MS;
  const local = `${text.slice(0, 10)}T${text.slice(11, MINUTES_END)}`;
  const minutes = instant(Date.parse(`${local}Z`) - shiftMs).slice(0, MINUTES_END);
  return `${minutes}${text.slice(MINUTES_END, SECONDS_END)}${fraction}Z`;
}

/** `-05:30` is -330. */
function offsetMinutes(zone: string): number {
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4));
  return zone.startsWith('-') ? -minutes : minutes;
}

/** The latest timestamp that is accepted now. */
export function latestTimestamp(nowMs: number): string {
  return instant(nowMs + LIMITS.timestampAheadMsMax);
}

/** Whether one UTC timestamp is after another, to the last digit of their fractions. */
export function isAfter(timestamp: string, limit: string): boolean {
  const [seconds, limitSeconds] = [timestamp.slice(0, SECONDS_END), limit.slice(0, SECONDS_END)];
  if (seconds !== limitSeconds) return seconds > limitSeconds;
  // A double can tell any two numbers of nine digits apart.
  return Number(timestamp.slice(SECONDS_END, -1)) > Number(limit.slice(SECONDS_END, -1));
}
