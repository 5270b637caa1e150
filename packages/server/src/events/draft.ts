// From a sound event to a draft of the log: the client's fields as accepted, plus what the service decides about
// them – identity, correlation, classification, sender – in the two texts that are hashed, stored and shown.

import { ok as assert } from 'node:assert/strict';
import { type CorrelationId, type EventDraft, isUuid } from '@tallystick/contract';
import { canonicalJson, KINDS } from '@tallystick/evidence';
import type { Caller } from '../access/caller.ts';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call } from '../call.ts';
import { Fingerprints } from '../fingerprints.ts';
import { type Decider, deciderOf, type Decision } from '../policies/decide.ts';
import type { Draft } from '../streams/log.ts';
import { parsedFacts, PlainFacts } from './facts.ts';
import type { ParsedEvent } from './validate-event.ts';
import { isPlain, type PlainEvent } from './plain-event.ts';
import type { PlainTexts } from './plain-texts.ts';

/** The facts that all events of one request have in common. */
export interface Acceptance {
  readonly tenant: TenantRecord;
  readonly caller: Caller;
  /** Of the request; undefined where it is no UUID, and then each event gets one of its own. */
  readonly correlationId: CorrelationId | undefined;
  readonly decide: Decider;
  /** When it came. */
  readonly nowMs: number;
}

/** The source of ids that the sender left out. */
export interface NewIds {
  readonly nextId: () => string;
  readonly uuid: () => string;
}

export function acceptanceOf(call: Call, tenant: TenantRecord, nowMs: number): Acceptance {
  const { caller, correlation } = call;
  const { correlationIsGiven, correlationId } = correlation;
  assert(caller !== undefined, 'an event needs a caller, whose name it records');
  return {
    tenant,
    caller,
    correlationId: !correlationIsGiven || isUuid(correlationId) ? correlationId : undefined,
    decide: deciderOf(tenant),
    nowMs,
  };
}

export function decisionOn(event: ParsedEvent | PlainEvent, acceptance: Acceptance): Decision {
  const { decide, correlationId, nowMs } = acceptance;
  const facts = isPlain(event) ? new PlainFacts(event, correlationId) : parsedFacts(event, correlationId);
  return decide(facts, nowMs);
}

/** Its fingerprint is there when those of the request are finished. */
export function draftOf(
  event: ParsedEvent,
  acceptance: Acceptance,
  { classification, retention, decidedBy }: Decision,
  ids: NewIds,
  fingerprints: Fingerprints,
): Draft {
  const { sent, timestamp, contentText } = event;
  // Keys in the order of RFC 8785, which then finds nothing to sort.
  const facts = {
    action: sent.action,
    actor: sent.actor,
    classification,
    correlationId: sent.correlationId ?? acceptance.correlationId ?? ids.uuid(),
    outcome: sent.outcome ?? 'Success',
    resource: sent.resource,
    submittedBy: acceptance.caller.name,
    timestamp,
  };
  return {
    kind: KINDS.event,
    eventId: sent.eventId ?? ids.nextId(),
    texts: [Buffer.from(canonicalJson(facts)), contentText],
    classification,
    retention,
    decidedBy,
    sentFingerprint:
      sent.eventId === undefined
        ? undefined
        : fingerprint(fingerprints, Buffer.from(textWithoutContent(sent)), contentText),
  };
}

/** The drafts of the events of a request, in order; `texts` has room for those that are plain. */
export function draftsOf(
  events: readonly (ParsedEvent | PlainEvent)[],
  texts: PlainTexts,
  acceptance: Acceptance,
  ids: NewIds,
  decisions: readonly Decision[] = events.map((event) => decisionOn(event, acceptance)),
): Draft[] {
  const fingerprints = new Fingerprints(acceptance.tenant, acceptance.caller);
  const drafts = events.map((event, i) =>
    isPlain(event)
      ? plainDraft(event, texts, decisions[i]!, ids, fingerprints)
      : draftOf(event, acceptance, decisions[i]!, ids, fingerprints),
  );
  fingerprints.finish();
  return drafts;
}

function plainDraft(
  event: PlainEvent,
  texts: PlainTexts,
  { classification, retention, decidedBy }: Decision,
  ids: NewIds,
  fingerprints: Fingerprints,
): Draft {
  const { eventId } = event;
  const contentText = texts.content(event);
  return {
    kind: KINDS.event,
    eventId: eventId ?? ids.nextId(),
    texts: [texts.facts(event, classification), contentText],
    classification,
    retention,
    decidedBy,
    sentFingerprint: eventId === undefined ? undefined : plainFingerprint(fingerprints, event, contentText),
  };
}

const LINE_BREAK = Buffer.from('\n');

/**
 * Recognises repeats, by the members that the client sent, context and payload apart. No canonical text has a
 * line break in it, so the two cannot be confused.
 */
function fingerprint(fingerprints: Fingerprints, sent: Uint8Array, contentText: Uint8Array): Uint8Array {
  fingerprints.begin(sent.length + LINE_BREAK.length + contentText.length);
  fingerprints.write(sent);
  fingerprints.write(LINE_BREAK);
  fingerprints.write(contentText);
  return fingerprints.end();
}

/** The same, of an event that nobody has read. */
function plainFingerprint(
  fingerprints: Fingerprints,
  { outline, node, context, payload }: PlainEvent,
  contentText: Uint8Array,
): Uint8Array {
  const end = outline.to(node);
  let from = outline.from(node);
  fingerprints.begin(end - from + LINE_BREAK.length + contentText.length);
  for (const left of [context, payload]) {
    if (left === 0) continue;
    // Without the comma and the quote before the key: an action stands before both.
    fingerprints.write(outline.bytes, from, outline.keyFrom(left) - 2);
    from = outline.to(left);
  }
  fingerprints.write(outline.bytes, from, end);
  fingerprints.write(LINE_BREAK);
  fingerprints.write(contentText);
  return fingerprints.end();
}

function textWithoutContent(sent: EventDraft): string {
  const { context: _, payload: __, ...others } = sent;
  return canonicalJson(others);
}
