// How identifiers are read: without regard to case.

import { isUuid, type JsonSchema, ULID_PATTERN } from '@tallystick/contract';

const ULID = new RegExp(ULID_PATTERN);

/**
 * As we spell it: a ULID in upper case, a UUID in lower. A value that is no identifier in either case stays as it was sent,
 * because the error shows it.
 */
export function spelledIdentifier<T>({ format }: JsonSchema, value: T): T | string {
  if (typeof value !== 'string') return value;
  if (format === 'ulid') {
    const ulid = value.toUpperCase();
    return ULID.test(ulid) ? ulid : value;
  }
  return format === 'uuid' && isUuid(value) ? value.toLowerCase() : value;
}
