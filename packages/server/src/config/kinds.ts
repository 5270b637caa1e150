// The kinds of value a setting may have. A kind turns what was written – text in the environment, any JSON
// value in the file – into the value the server uses, or says undefined; `allowed` ends the sentence
// "allowed: …" in the message that the operator then reads.

import { isIP } from 'node:net';
import { isDateTime } from '@tallystick/contract';
import { formatDuration, parseDuration, parseTimeSpan } from '../runtime/time-span.ts';
import { Secret } from './secret.ts';

export interface Kind<T> {
  readonly allowed: string;
  read(written: unknown): T | undefined;
  /** The value as it could be written in the file. */
  show(value: T): unknown;
  readonly secret?: true;
  /** A list may also be written as one text with commas, or index by index. */
  readonly list?: true;
}

/** A length of time. An object, so that the unit stands where it is used: `sealAfter.ms`. */
export interface Span {
  readonly ms: number;
}

export function flag(): Kind<boolean> {
  return {
    allowed: 'true or false',
    read(written) {
      if (typeof written === 'boolean') return written;
      const word = typeof written === 'string' ? written.toLowerCase() : '';
      return word === 'true' ? true : word === 'false' ? false : undefined;
    },
    show: (value) => value,
  };
}

export function whole(min: number, max: number): Kind<number> {
  return {
    allowed:
      max === Number.MAX_SAFE_INTEGER
        ? `a whole number, at least ${min}`
        : `a whole number from ${min} to ${max}`,
    read(written) {
      const digits = typeof written === 'string' && /^-?\d{1,16}$/.test(written);
      const value = digits ? Number(written) : written;
      if (typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined;
      return value >= min && value <= max ? value : undefined;
    },
    show: (value) => value,
  };
}

/** Above 0, and at most 1. */
export function share(): Kind<number> {
  return {
    allowed: 'a number above 0 and at most 1',
    read(written) {
      const isText = typeof written === 'string' && /^(0?\.\d{1,9}|1(\.0+)?)$/.test(written);
      const value = isText ? Number(written) : written;
      return typeof value === 'number' && value > 0 && value <= 1 ? value : undefined;
    },
    show: (value) => value,
  };
}

export function choice<const T extends string>(...options: readonly T[]): Kind<T> {
  return {
    allowed: `one of ${options.join(', ')}`,
    read: (written) => options.find((option) => option === written),
    show: (value) => value,
  };
}

/** Text that fulfils a condition; `allowed` states the condition in words. */
export function text(allowed: string, fulfils: (value: string) => boolean): Kind<string> {
  return {
    allowed,
    read: (written) => (typeof written === 'string' && fulfils(written) ? written : undefined),
    show: (value) => value,
  };
}

export function visible(min: number, max: number): Kind<string> {
  return text(
    `${min} to ${max} visible ASCII characters`,
    (v) => /^[\x21-\x7e]*$/.test(v) && v.length >= min && v.length <= max,
  );
}

export function path(): Kind<string> {
  return text('a path', (value) => value.length > 0 && !value.includes('\0'));
}

export function host(): Kind<string> {
  const name =
    /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;
  const dotted = /^[\d.]+$/;
  return text('an IP address or a host name', (v) => isIP(v) !== 0 || (name.test(v) && !dotted.test(v)));
}

/** A host, or all below a name, that is known to be in a region. */
export function regionHost(region: RegExp): Kind<string> {
  const named = host();
  return text('a region and a host in it, such as eu=sftp.example.com or eu=*.example.com', (value) => {
    const [name = '', at = '', ...rest] = value.split('=');
    return rest.length === 0 && region.test(name) && named.read(at.replace(/^\*\./, '')) !== undefined;
  });
}

export function port(): Kind<number> {
  return { ...whole(0, 65_535), allowed: 'a port, 0 to 65535 (0 takes any free one)' };
}

export function url(...schemes: readonly string[]): Kind<string> {
  const allowed = `a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
  return text(allowed, (value) => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    return (
      parsed !== undefined && schemes.some((scheme) => parsed.protocol === `${scheme}:`) && parsed.host !== ''
    );
  });
}

/** An address, or a network in CIDR form. */
export function network(): Kind<string> {
  return text('an IP address, or a network such as 10.0.0.0/8', (value) => {
    const [address = '', bits, ...rest] = value.split('/');
    const family = isIP(address);
    if (family === 0 || rest.length > 0) return false;
    if (bits === undefined) return true;
    return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
  });
}

/** A length of time above zero. */
export function span(show: (ms: number) => string = formatDuration, leastMs = 1): Kind<Span> {
  const least = leastMs === 1 ? 'above zero' : `of at least ${formatDuration(leastMs)}`;
  return {
    allowed: `a duration ${least} such as PT30S or P1D, or a time span such as 00:00:30 or 1.00:00:00`,
    read(written) {
      if (typeof written !== 'string') return undefined;
      const ms = parseDuration(written) ?? parseTimeSpan(written);
      return ms !== undefined && ms >= leastMs ? { ms } : undefined;
    },
    show: (value) => show(value.ms),
  };
}

/** A calendar date, or a moment; kept as written, because that is how headers show it. */
export function date(): Kind<string> {
  return text(
    'a date such as 2027-06-30, or a moment such as 2027-06-30T12:00:00Z',
    (value) => isDateTime(value) || isDateTime(`${value}T00:00:00Z`),
  );
}

export function list<T>(of: Kind<T>): Kind<readonly T[]> {
  return {
    allowed: `a list, each ${of.allowed}`,
    list: true,
    read(written) {
      const parts = typeof written === 'string' ? written.split(',').map((part) => part.trim()) : written;
      if (!Array.isArray(parts)) return undefined;
      const values = parts.map((part) => of.read(part));
      return values.every((value) => value !== undefined) ? values : undefined;
    },
    show: (value) => value.map((item) => of.show(item)),
  };
}

export function secret(of: Kind<string>): Kind<Secret> {
  return {
    allowed: of.allowed,
    secret: true,
    read(written) {
      const value = of.read(written);
      return value === undefined ? undefined : new Secret(value);
    },
    show: String,
  };
}
