// From a sound event to a draft of the log: the client's fields as accepted, plus what the service decides about
// them – identity, correlation, classification, sender – in the two texts that are hashed, stored and shown.

import { ok as assert } from 'node:assert/strict';
import { type CorrelationId, type EventDraft, isUuid } from '@tallystick/contract';
import { canonicalJson, KINDS } from '@tallystick/evidence';
import type { Caller } from '../access/caller.ts';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call } from '../call.ts';
import { type Decider, deciderOf } from '../policies/decide.ts';
import { fingerprintOf } from '../repeats.ts';
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
}

/** The source of ids that the sender left out. */
export interface NewIds {
  readonly nextId: () => string;
  readonly uuid: () => string;
}

export function acceptanceOf(call: Call, tenant: TenantRecord): Acceptance {
  const { caller, correlation } = call;
  const { correlationIsGiven, correlationId } = correlation;
  assert(caller !== undefined, 'an event needs a caller, whose name it records');
  return {
    tenant,
    caller,
    correlationId: !correlationIsGiven || isUuid(correlationId) ? correlationId : undefined,
    decide: deciderOf(tenant),
  };
}

export function draftOf(event: ParsedEvent, acceptance: Acceptance, ids: NewIds): Draft {
  const { sent, timestamp, contentText } = event;
  const { classification, retention } = acceptance.decide(parsedFacts(event));
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
    sentFingerprint:
      sent.eventId === undefined ? undefined : fingerprint(acceptance, textWithoutContent(sent), contentText),
  };
}

/** The drafts of the events of a request, in order; `texts` has room for those that are plain. */
export function draftsOf(
  events: readonly (ParsedEvent | PlainEvent)[],
  texts: PlainTexts,
  acceptance: Acceptance,
  ids: NewIds,
): Draft[] {
  return events.map((event) =>
    isPlain(event) ? plainDraft(event, texts, acceptance, ids) : draftOf(event, acceptance, ids),
  );
}

function plainDraft(event: PlainEvent, texts: PlainTexts, acceptance: Acceptance, ids: NewIds): Draft {
  const { classification, retention } = acceptance.decide(new PlainFacts(event));
  const { eventId } = event;
  const contentText = texts.content(event);
  return {
    kind: KINDS.event,
    eventId: eventId ?? ids.nextId(),
    texts: [texts.facts(event, classification), contentText],
    classification,
    retention,
    sentFingerprint:
      eventId === undefined ? undefined : fingerprint(acceptance, texts.sent(event), contentText),
  };
}

/**
 * Recognises repeats, by the members that the client sent, context and payload apart. No canonical text has a
 * line break in it, so the two cannot be confused.
 */
function fingerprint(
  { tenant, caller }: Acceptance,
  sent: string | Uint8Array,
  contentText: Uint8Array,
): Uint8Array {
  return fingerprintOf(tenant, caller, sent, '\n', contentText);
}

function textWithoutContent(sent: EventDraft): string {
  const { context: _, payload: __, ...others } = sent;
  return canonicalJson(others);
}
