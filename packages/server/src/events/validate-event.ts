// Whether an event may be accepted: the rules of its schema, the rules of JSON that the scanner found broken, and
// those that no schema can say – not too far ahead in time, not too large, an actor with an identity where that is
// demanded. Everything that is wrong is reported at once. A sound event comes out with what validating it has already
// made of it, so that nothing is worked out twice.

import { type ErrorCode, type ErrorDetail, EventDraft, LIMITS, withoutIgnored } from '@tallystick/contract';
import { UnreadValue } from '../call.ts';
import {
  hasIdentity,
  identityBreaches,
  isObject,
  type Members,
  sizeBreaches,
  timeBreaches,
} from './breaches.ts';
import { contentTextOf, textOf } from './content-text.ts';
import { createFindPlain, type PlainEvent } from './plain-event.ts';
import { isAfter, utcTimestamp } from './timestamp.ts';

/** The rules of the schema, from a validator that is passed in; paths stand below `at`. */
export interface FieldRules {
  /** At most `max` of the violations of the value. */
  violations(value: unknown, at: string, max?: number): readonly ErrorDetail[];
  /** The message of an error with these details, and so many more that it does not list; the check stopped at `max`. */
  message(details: readonly ErrorDetail[], unlisted?: number, max?: number): string;
}

export interface ValidateEventOptions {
  readonly fields: FieldRules;
  /** A user must have an id or a name, and so must a service. */
  readonly requireActorIdentity: boolean;
}

export interface ParsedEvent {
  /** The event as sent, without nulls that mean absent. */
  readonly sent: EventDraft;
  /** In UTC. */
  readonly timestamp: string;
  /** The RFC 8785 text of context and payload: all of group 2. */
  readonly contentText: Uint8Array;
}

/** Why an event is not accepted. */
export interface EventRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetail[];
}

export interface ValidateEvent {
  /** `value` may be unread. `latest` is the latest timestamp that is accepted. */
  (value: unknown, at: EventPlace, latest: string): ParsedEvent | PlainEvent | EventRefusal;
}

/** Where an event stands in the body, and what is known of it. */
export interface EventPlace {
  /** Its path: `events[2]`; empty where it is the whole body. */
  readonly path: string;
  /** The rules of JSON that it breaks, and how many more there are. */
  readonly broken: readonly ErrorDetail[];
  readonly unlisted: number;
  /** How many violations are listed. */
  readonly detailsMax: number;
}

export function isRefusal(validated: object): validated is EventRefusal {
  return 'code' in validated;
}

export function createValidateEvent({ fields, requireActorIdentity }: ValidateEventOptions): ValidateEvent {
  const refuse = (
    details: ErrorDetail[],
    at: EventPlace,
    code: ErrorCode = 'VALIDATION_FAILED',
  ): EventRefusal => ({
    code,
    message: fields.message(details, at.unlisted, at.detailsMax),
    details,
  });

  /** Lists all faults, once it is known that there is one. */
  const refusalOf = (
    event: unknown,
    found: readonly ErrorDetail[],
    at: EventPlace,
    latest: string,
  ): EventRefusal => {
    const members = Object(event) as Members;
    const sizes = sizeBreaches(members, at.path);
    const others = [...timeBreaches(members, at.path, latest)];
    if (requireActorIdentity) others.push(...identityBreaches(members, at.path));
    const details = [...found, ...others, ...sizes];
    const isTooLarge = details.length === 1 && sizes.length === 1;
    return refuse(details, at, isTooLarge ? 'PAYLOAD_TOO_LARGE' : undefined);
  };

  const validateValue = (value: unknown, at: EventPlace, latest: string) => {
    const event = withoutNulls(value);
    const faults = fields.violations(event, at.path, at.detailsMax);
    if (at.broken.length > 0 || faults.length > 0)
      return refusalOf(event, [...at.broken, ...faults], at, latest);

    // No rule of the schema is broken, so the type holds.
    const sent = event as EventDraft;
    const timestamp = utcTimestamp(sent.timestamp);
    const context = textOf(sent.context);
    const payload = textOf(sent.payload);
    const isSound =
      !isAfter(timestamp, latest) &&
      (context?.length ?? 0) <= LIMITS.contextBytesMax &&
      (payload?.length ?? 0) <= LIMITS.payloadBytesMax &&
      (!requireActorIdentity || hasIdentity(sent.actor));
    if (!isSound) return refusalOf(sent, at.broken, at, latest);
    return { sent, timestamp, contentText: contentTextOf(context, payload) };
  };

  const findPlain = createFindPlain(requireActorIdentity);
  return (value, at, latest) => {
    if (!(value instanceof UnreadValue)) return validateValue(value, at, latest);
    const plain = at.broken.length === 0 ? findPlain(value, latest) : undefined;
    return plain ?? validateValue(value.read(at.detailsMax), at, latest);
  };
}

/** `null` in an optional member means absent. Nearly no event has one, so it is looked for before it is taken out. */
function withoutNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  const hasNulls = hasNull(value) || hasNull(value['actor']) || hasNull(value['resource']);
  return hasNulls ? withoutIgnored(EventDraft, value) : value;
}

function hasNull(value: unknown): boolean {
  if (!isObject(value) || Array.isArray(value)) return false;
  for (const name in value) if (value[name] === null) return true;
  return false;
}
