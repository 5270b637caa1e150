// Plain events, with nothing unusual in them, are validated in the RFC 8785 bytes that they arrived in, without parsing.
// `validateEvent` would accept every event that is found plain here; any other event is undecided, and is parsed and validated.
// The rules are those of the schema; events with nulls, or with a time in another zone, are not plain.

import { asJson, type Classification, CLASSIFICATIONS, EventDraft, LIMITS } from '@tallystick/contract';
import type { JsonOutline } from '@tallystick/evidence';
import type { UnreadValue } from '../call.ts';
import { IDENTITY_MEMBERS } from './breaches.ts';
import { memberNames, ruleOf, saysWord } from './plain-rules.ts';

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
  /** The sender's own. */
  readonly eventId: string | undefined;
  readonly outcome: number;
  readonly payload: number;
  readonly resource: number;
  readonly timestamp: number;
}

export function isPlain(event: object): event is PlainEvent {
  return 'outline' in event;
}

/** `latest` is the latest timestamp that is accepted. */
export type FindPlain = (value: UnreadValue, latest: string) => PlainEvent | undefined;

export function createFindPlain(requireActorIdentity: boolean): FindPlain {
  const schema = asJson(EventDraft);
  const holds = ruleOf(schema);
  const names = memberNames(schema);
  // By the name of each member, where its place is listed.
  const at = Object.fromEntries(names.map((name, i) => [name, i])) as Record<keyof EventDraft, number>;
  return ({ outline, node }, latest) => {
    const places: number[] = [];
    if (!holds(outline, node, places)) return undefined;
    const actor = places[at.actor]!;
    const context = places[at.context]!;
    const payload = places[at.payload]!;
    const timestamp = places[at.timestamp]!;
    const isPlain =
      isBefore(outline, timestamp, latest) &&
      bytesOf(outline, context) <= LIMITS.contextBytesMax &&
      bytesOf(outline, payload) <= LIMITS.payloadBytesMax &&
      (!requireActorIdentity || hasIdentity(outline, actor));
    if (!isPlain) return undefined;
    return {
      outline,
      node,
      action: places[at.action]!,
      actor,
      classification: classificationIn(outline, places[at.classification]!),
      context,
      correlationId: places[at.correlationId]!,
      eventId: textIn(outline, places[at.eventId]!),
      outcome: places[at.outcome]!,
      payload,
      resource: places[at.resource]!,
      timestamp,
    };
  };
}

/** None where the member is absent. */
function bytesOf(outline: JsonOutline, node: number): number {
  return node === 0 ? 0 : outline.to(node) - outline.from(node);
}

/** Of `2026-01-02T03:04:05`. */
const SECONDS_LENGTH = 19;

/** Whether a time is before the second of another; within that second it is undecided. */
function isBefore(outline: JsonOutline, timestamp: number, latest: string): boolean {
  const from = outline.from(timestamp) + 1;
  for (let i = 0; i < SECONDS_LENGTH; i++) {
    const difference = outline.bytes[from + i]! - latest.charCodeAt(i);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

const classificationBytes = CLASSIFICATIONS.map((word) => Buffer.from(word));
const identityBytes = IDENTITY_MEMBERS.map(([type, members]) => ({
  type: Buffer.from(type),
  members: members.map((member) => Buffer.from(member)),
}));
const ACTOR_TYPE = Buffer.from('actorType');

function classificationIn(outline: JsonOutline, node: number): Classification | undefined {
  if (node === 0) return undefined;
  return CLASSIFICATIONS[classificationBytes.findIndex((word) => saysWord(outline, node, word))];
}

/** Of a text in ASCII without escapes. */
function textIn(outline: JsonOutline, node: number): string | undefined {
  if (node === 0) return undefined;
  return latin1Slice.call(outline.bytes, outline.from(node) + 1, outline.to(node) - 1);
}

/** It reads any bytes, and needs no view of them. */
const { latin1Slice } = Buffer.prototype;

function hasIdentity(outline: JsonOutline, actor: number): boolean {
  const typeAt = outline.member(actor, ACTOR_TYPE) ?? 0;
  const demanded = identityBytes.find(({ type }) => saysWord(outline, typeAt, type));
  return demanded?.members.some((name) => outline.member(actor, name) !== undefined) ?? true;
}
