// The rules that an event breaks besides its schema, each with the detail that is reported. The event is known to be
// wrong already: any member may have any form.

import { type Actor, type ErrorDetail, isDateTime, LIMITS } from '@tallystick/contract';
import { JsonText } from '../call.ts';
import { isAfter, utcTimestamp } from './timestamp.ts';

export type Members = Readonly<Record<string, unknown>>;

export function timeBreaches({ timestamp }: Members, at: string, latest: string): ErrorDetail[] {
  if (typeof timestamp !== 'string' || !isDateTime(timestamp) || !isAfter(utcTimestamp(timestamp), latest))
    return [];
  const minutes = LIMITS.timestampAheadMsMax / 60_000;
  const issue = `lies more than ${minutes} minutes in the future`;
  return [{ field: below(at, 'timestamp'), issue, value: timestamp }];
}

export function sizeBreaches({ context, payload }: Members, at: string): ErrorDetail[] {
  return [
    ...sizeBreach(context, below(at, 'context'), LIMITS.contextBytesMax),
    ...sizeBreach(payload, below(at, 'payload'), LIMITS.payloadBytesMax),
  ];
}

function sizeBreach(value: unknown, field: string, bytesMax: number): ErrorDetail[] {
  if (!isObject(value)) return [];
  const bytes = compactBytes(value);
  return bytes !== undefined && bytes > bytesMax
    ? [{ field, issue: `is ${bytes} bytes of compact JSON; the limit is ${bytesMax}` }]
    : [];
}

/**
 * As many bytes as the canonical text has; and there is one here even where a string has half of a surrogate pair.
 * Undefined for what is nested too deep to be written: that is refused for its nesting.
 */
function compactBytes(value: object): number | undefined {
  if (value instanceof JsonText) return value.bytes.length;
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export function identityBreaches({ actor }: Members, at: string): ErrorDetail[] {
  if (!isObject(actor) || hasIdentity(actor)) return [];
  const [id, name] = identityMembers(actor['actorType']);
  const issue = `is required, or ${name}: an actor must have an identity here`;
  return [{ field: below(at, `actor.${id}`), issue }];
}

function below(at: string, field: string): string {
  return at === '' ? field : `${at}.${field}`;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Where identity is demanded, an actor of this type has one of these members; one of another type needs none. */
export const IDENTITY_MEMBERS = [
  ['User', ['userId', 'userName']],
  ['Service', ['serviceId', 'serviceName']],
] as const satisfies readonly (readonly [Actor['actorType'], readonly (keyof Actor)[]])[];

function identityMembers(actorType: unknown): readonly string[] {
  return IDENTITY_MEMBERS.find(([type]) => type === actorType)?.[1] ?? [];
}

export function hasIdentity(actor: Members): boolean {
  const members = identityMembers(actor['actorType']);
  return members.length === 0 || members.some((member) => actor[member] !== undefined);
}
