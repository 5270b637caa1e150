// Events with which nothing is out of the ordinary, judged in the RFC 8785 bytes that they arrived in: no value is
// made of them. What is found plain here, the judge finds sound; what is not found plain is undecided, and is read and
// judged. Events with an id or a tenant of their own, with nulls, or with a time in another zone are not plain.

import {
  ACTOR_TYPES,
  type Classification,
  CLASSIFICATIONS,
  EVENT_OUTCOMES,
  LIMITS,
} from '@tallystick/contract';
import type { JsonOutline } from '@tallystick/evidence';
import type { UnreadValue } from '../call.ts';
import { IDENTITY_MEMBERS } from './breaches.ts';
import {
  contentUpTo,
  fits,
  identity,
  isAction,
  isBefore,
  isUtcText,
  isUuidText,
  oneOf,
  optional,
  required,
  type Rule,
  saysWord,
  textUpTo,
} from './plain-rules.ts';

/** The members of an event, as their places in the outline of its text; 0 for one that is absent. */
export interface PlainEvent {
  readonly outline: JsonOutline;
  /** The event itself. */
  readonly node: number;
  readonly action: number;
  readonly actor: number;
  readonly classification: Classification | undefined;
  readonly context: number;
  readonly correlationId: number;
  readonly outcome: number;
  readonly payload: number;
  readonly resource: number;
  readonly timestamp: number;
}

export function isPlain(event: object): event is PlainEvent {
  return 'outline' in event;
}

// The members in the order of RFC 8785, which is that of the bytes.
const ACTOR: readonly Rule[] = [
  required('actorType', oneOf(ACTOR_TYPES)),
  optional('serviceId', identity),
  optional('serviceName', identity),
  optional('userId', identity),
  optional('userName', textUpTo(LIMITS.userNameLengthMax)),
];
const RESOURCE: readonly Rule[] = [
  required('resourceId', identity),
  optional('resourceName', identity),
  required('resourceType', identity),
];
const EVENT: readonly Rule[] = [
  required('action', isAction),
  required('actor', (outline, node) => fits(outline, node, ACTOR)),
  optional('classification', oneOf(CLASSIFICATIONS)),
  optional('context', contentUpTo(LIMITS.contextBytesMax)),
  optional('correlationId', isUuidText),
  optional('outcome', oneOf(EVENT_OUTCOMES)),
  optional('payload', contentUpTo(LIMITS.payloadBytesMax)),
  required('resource', (outline, node) => fits(outline, node, RESOURCE)),
  required('timestamp', isUtcText),
];

const classificationBytes = CLASSIFICATIONS.map((word) => Buffer.from(word));
const identityBytes = IDENTITY_MEMBERS.map(([type, members]) => ({
  type: Buffer.from(type),
  members: members.map((member) => Buffer.from(member)),
}));
const ACTOR_TYPE = Buffer.from('actorType');

/** `latest` is the latest timestamp that is accepted. */
export function plainEventOf(
  { outline, node }: UnreadValue,
  latest: string,
  requireActorIdentity: boolean,
): PlainEvent | undefined {
  const places: number[] = [];
  if (!fits(outline, node, EVENT, places)) return undefined;
  const [action, actor, classification, context, correlationId, outcome, payload, resource, timestamp] =
    places as [number, number, number, number, number, number, number, number, number];
  if (!isBefore(outline, timestamp, latest)) return undefined;
  if (requireActorIdentity && !hasIdentity(outline, actor)) return undefined;
  return {
    outline,
    node,
    action,
    actor,
    classification: classification === 0 ? undefined : classificationAt(outline, classification),
    context,
    correlationId,
    outcome,
    payload,
    resource,
    timestamp,
  };
}

function classificationAt(outline: JsonOutline, node: number): Classification | undefined {
  return CLASSIFICATIONS[classificationBytes.findIndex((word) => saysWord(outline, node, word))];
}

function hasIdentity(outline: JsonOutline, actor: number): boolean {
  const typeAt = outline.member(actor, ACTOR_TYPE) ?? 0;
  const demanded = identityBytes.find(({ type }) => saysWord(outline, typeAt, type));
  return demanded?.members.some((name) => outline.member(actor, name) !== undefined) ?? true;
}
