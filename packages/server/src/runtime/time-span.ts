// The two ways in which this interface writes a length of time, and the moment as a calendar date.
//   time span     [d.]hh:mm:ss[.fffffff]   hours 00–23, up to seven digits of a second (health, rate limits)
//   duration      PnW or PnDTnHnMnS        ISO 8601, fixed lengths only: no years, no months (other settings)

const TIME_SPAN = /^(?:(\d{1,8})\.)?([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,7}))?$/;
const DURATION =
  /^P(?=.)(?:(\d{1,6})W|(?:(\d{1,8})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?)$/;

const DAY_MS = 86_400_000;

/** Milliseconds, or undefined when the text is no time span. */
export function parseTimeSpan(text: string): number | undefined {
  const match = TIME_SPAN.exec(text);
  if (match === null) return undefined;
  const [, days = '0', hours, minutes, seconds, fraction = ''] = match;
  const ticks = Number(fraction.padEnd(7, '0'));
  return Number(days) * DAY_MS + clockMs(hours, minutes, seconds) + ticks / 10_000;
}

/** Milliseconds, or undefined when the text is no duration of a fixed length. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  if (match === null) return undefined;
  const [, weeks = '0', days = '0', hours = '0', minutes = '0', seconds = '0'] = match;
  return Number(weeks) * 7 * DAY_MS + Number(days) * DAY_MS + clockMs(hours, minutes, seconds);
}

/** A measured span as the health report shows it: `00:00:00.0012345`. */
export function formatTimeSpan(ns: number): string {
  const ticks = Math.max(0, Math.round(ns / 100));
  const seconds = Math.floor(ticks / 10_000_000);
  const days = Math.floor(seconds / 86_400);
  const clock = [Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  const text = clock.map((part) => String(part).padStart(2, '0')).join(':');
  return `${days > 0 ? `${days}.` : ''}${text}.${String(ticks % 10_000_000).padStart(7, '0')}`;
}

/** A fixed length as an ISO 8601 duration, for example 90,000 ms as `PT1M30S`. */
export function formatDuration(ms: number): string {
  const days = Math.floor(ms / DAY_MS);
  const hours = Math.floor(ms / 3_600_000) % 24;
  const minutes = Math.floor(ms / 60_000) % 60;
  const seconds = (ms % 60_000) / 1000;
  const time = [hours && `${hours}H`, minutes && `${minutes}M`, seconds && `${seconds}S`]
    .filter(Boolean)
    .join('');
  if (days === 0 && time === '') return 'PT0S';
  return `P${days > 0 ? `${days}D` : ''}${time === '' ? '' : `T${time}`}`;
}

function clockMs(hours = '0', minutes = '0', seconds = '0'): number {
  return Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000;
}
