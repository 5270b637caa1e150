// The string formats that schemas name, as pure functions: hand FORMATS to the validator, so that server, client
// and tests agree on what a date is. Formats that only tell a reader something (`password`, `byte`) accept all.

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.\d{1,9})?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;
/** Only the last part may have a fraction. */
const PART = String.raw`\d{1,9}(?:[.,]\d{1,9}(?=.$))?`;
const DURATION = new RegExp(
  String.raw`^P(?=\d|T\d)(?:\d{1,9}Y)?(?:\d{1,9}M)?(?:${PART}W)?(?:${PART}D)?(?:T(?=\d)(?:${PART}H)?(?:${PART}M)?(?:${PART}S)?)?$`,
);
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
export const ULID_PATTERN = '^[0-7][0-9A-HJKMNP-TV-Z]{25}$';
const DAY_MINUTES = 24 * 60;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * An RFC 3339 date-time whose day exists in the calendar, with at most nine digits of fraction. The second 60 is
 * refused: no clock that we order by can hold it. So is an instant that in UTC lies outside the years 0000 to 9999:
 * it could not be written in the form that is kept and hashed.
 */
export function isDateTime(text: string): boolean {
  const match = DATE_TIME.exec(text);
  if (!match) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0);
  return day >= 1 && day <= days && isInCalendar(match);
}

/** Whether the instant, moved to UTC, is still in a year of four digits: only the first and the last day can leave. */
function isInCalendar([
  text,
  ,
  ,
  ,
  hours,
  minutes,
  ,
  sign,
  offsetHours,
  offsetMinutes,
]: RegExpExecArray): boolean {
  if (sign === undefined) return true;
  const offset = 60 * Number(offsetHours) + Number(offsetMinutes);
  const minuteInUtc = 60 * Number(hours) + Number(minutes) + (sign === '+' ? -offset : offset);
  if (text.startsWith('0000-01-01')) return minuteInUtc >= 0;
  return !text.startsWith('9999-12-31') || minuteInUtc < DAY_MINUTES;
}

/** An ISO 8601 duration: `P7Y`, `P1DT12H`, `PT0.5S`. Years and months have no fraction: nobody could say how long half a month is. */
export const isDuration = (text: string): boolean => DURATION.test(text);

export const isUuid = (text: string): boolean => UUID.test(text);

/** An absolute URI. What it may lead to is another rule. */
export const isUri = (text: string): boolean => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && URL.canParse(text);

const IPV4 = /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/;

/** An address of version 6 in its longest spelling, and how many of its bits count. */
const NETWORK_LENGTH_MAX = 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128'.length;

/** An IP address, or a network in CIDR form. */
export function isNetwork(text: string): boolean {
  if (text.length > NETWORK_LENGTH_MAX) return false;
  const [address = '', bits, ...rest] = text.split('/');
  const isFour = IPV4.test(address);
  if (
    !isFour &&
    !(address.includes(':') && /^[0-9A-Fa-f:.]+$/.test(address) && URL.canParse(`http://[${address}]/`))
  )
    return false;
  if (rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isFour ? 32 : 128));
}

const accepted = (): boolean => true;

export const FORMATS = {
  'date-time': isDateTime,
  duration: isDuration,
  uuid: isUuid,
  uri: isUri,
  network: isNetwork,
  // The pattern beside it decides; the name tells generators that this is an identifier.
  ulid: accepted,
  password: accepted,
  byte: accepted,
} as const satisfies Record<string, (text: string) => boolean>;

/**
 * Patterns that values of a format match, nearly all of them: what matches has the format. Only groups, alternatives,
 * classes and counts occur. A date-time is matched in UTC, in the form that is kept, on all days but one in 400 years.
 */
export const PATTERN_OF_FORMAT: Readonly<Partial<Record<string, string>>> = {
  'date-time':
    '^(\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))' +
    '|\\d\\d(0[48]|[2468][048]|[13579][26])-02-29)' +
    'T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?Z$',
  uuid: '^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$',
  ulid: ULID_PATTERN,
} satisfies Partial<Record<keyof typeof FORMATS, string>>;

/** What each format asks for, in words that go on after "must be"; what accepts all asks for nothing. */
export const EXPECTED_OF_FORMAT: Readonly<Partial<Record<string, string>>> = {
  'date-time':
    'a date-time that exists, with its zone and at most 9 digits of fraction, like 2026-01-02T03:04:05.678Z',
  duration: 'an ISO 8601 duration, like P7Y or PT12H',
  uuid: 'a UUID, like 7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
  uri: 'an absolute URL, like https://example.com/hook',
  network: 'an IP address or a network, like 203.0.113.7 or 10.0.0.0/8',
  ulid: "a ULID: 26 digits and capital letters of Crockford's base 32, like 01KE0000000000000000000042",
} satisfies Partial<Record<keyof typeof FORMATS, string>>;
