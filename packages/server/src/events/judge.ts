// Whether an event may be accepted: the rules of its schema, the rules of JSON that the scanner found broken, and
// those that no schema can say – not too far ahead in time, not too large, an actor with an identity where that is
// demanded. Everything that is wrong is reported at once. A sound event comes out with what judging it has already
// made of it, so that nothing is worked out twice.

import { type ErrorCode, type ErrorDetail, EventDraft, LIMITS, withoutIgnored } from '@tallystick/contract';
import { UnreadValue } from '../call.ts';
import {
  crowdBreach,
  hasIdentity,
  identityBreaches,
  isObject,
  type Members,
  sizeBreaches,
  timeBreaches,
} from './breaches.ts';
import { contentTextOf, textOf } from './content-text.ts';
import { type PlainEvent, plainEventOf } from './plain-event.ts';
import { isAfter, utcTimestamp } from './timestamp.ts';

/** The rules of the schema, from whoever has a validator for it; paths stand below `at`. */
export interface FieldRules {
  violations(value: unknown, at: string): readonly ErrorDetail[];
  /** The message of an error with these details, and so many more that it does not list. */
  message(details: readonly ErrorDetail[], unlisted?: number): string;
}

export interface JudgeOptions {
  readonly fields: FieldRules;
  /** A user must have an id or a name, and so must a service. */
  readonly requireActorIdentity: boolean;
}

export interface SoundEvent {
  /** What was sent, without nulls that mean absent. */
  readonly sent: EventDraft;
  /** In UTC. */
  readonly timestamp: string;
  /** The RFC 8785 text of context and payload: all of group 2. */
  readonly contentText: Uint8Array;
}

/** Why an event is not accepted. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetail[];
}

export interface Judge {
  /**
   * `value` may be unread, and then it breaks no rule of JSON. `broken` are those that it breaks, `unlisted` is how
   * many more there are; `at` is where it stands in the body, `latest` the latest timestamp that is accepted.
   */
  (
    value: unknown,
    broken: readonly ErrorDetail[],
    at: string,
    latest: string,
    unlisted?: number,
  ): SoundEvent | PlainEvent | Refusal;
}

export function isRefusal(judged: object): judged is Refusal {
  return 'code' in judged;
}

export function createJudge({ fields, requireActorIdentity }: JudgeOptions): Judge {
  const refuse = (
    details: ErrorDetail[],
    unlisted: number,
    code: ErrorCode = 'VALIDATION_FAILED',
  ): Refusal => ({
    code,
    message: fields.message(details, unlisted),
    details,
  });

  /** All that is wrong, once it is known that something is. */
  const refusalOf = (
    event: unknown,
    found: readonly ErrorDetail[],
    at: string,
    latest: string,
    unlisted = 0,
  ): Refusal => {
    const members = Object(event) as Members;
    const sizes = sizeBreaches(members, at);
    const others = [...timeBreaches(members, at, latest)];
    if (requireActorIdentity) others.push(...identityBreaches(members, at));
    const details = [...found, ...others, ...sizes];
    const isTooLarge = details.length === 1 && sizes.length === 1;
    return refuse(details, unlisted, isTooLarge ? 'PAYLOAD_TOO_LARGE' : undefined);
  };

  const judgeValue = (
    value: unknown,
    broken: readonly ErrorDetail[],
    at: string,
    latest: string,
    unlisted = 0,
  ) => {
    const crowd = crowdBreach(value, at);
    if (crowd !== undefined) return refuse([...broken, crowd], unlisted);
    const event = withoutNulls(value);
    const faults = fields.violations(event, at);
    if (broken.length > 0 || faults.length > 0)
      return refusalOf(event, [...broken, ...faults], at, latest, unlisted);

    // No rule of the schema is broken, so this is what the schema says.
    const sent = event as EventDraft;
    const timestamp = utcTimestamp(sent.timestamp);
    const context = textOf(sent.context);
    const payload = textOf(sent.payload);
    const isSound =
      !isAfter(timestamp, latest) &&
      (context?.length ?? 0) <= LIMITS.contextBytesMax &&
      (payload?.length ?? 0) <= LIMITS.payloadBytesMax &&
      (!requireActorIdentity || hasIdentity(sent.actor));
    if (!isSound) return refusalOf(sent, [], at, latest);
    return { sent, timestamp, contentText: contentTextOf(context, payload) };
  };

  return (value, broken, at, latest, unlisted) => {
    if (!(value instanceof UnreadValue)) return judgeValue(value, broken, at, latest, unlisted);
    return plainEventOf(value, latest, requireActorIdentity) ?? judgeValue(value.read(), broken, at, latest);
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
