// Redaction at rest: fields of one event are removed for good. Their notice is durable before the answer, and from then on
// nobody sees them; the answer waits a while for the values to be deleted everywhere, which goes on by itself in any case. Where the
// tenant wants four eyes, the request waits for a second caller.

import { ok as assert } from 'node:assert/strict';
import {
  type Answer,
  AuditError,
  type AuditEvent,
  type AwaitingConfirmation,
  ERRORS,
  type ErrorDetail,
  type EventId,
  type InputOf,
  isUuid,
  type TenantId,
} from '@tallystick/contract';
import { decodeEntry, KINDS, parseJson } from '@tallystick/evidence';
import type { TenantRecord, Tenants } from '../access/tenants.ts';
import { type Call, type OwnViolation, type Received, receivedMember } from '../call.ts';
import { storedFacts } from '../events/facts.ts';
import { type GetParts, notFound, readShown } from '../events/get.ts';
import { readFacts } from '../events/show.ts';
import { holdsOn } from '../holds/hold-judge.ts';
import type { ChangeRecords } from '../records/change.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import { type Clock, instant, wait } from '../runtime/clock.ts';
import { Deadline } from '../runtime/deadline.ts';
import { idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import { draftNotice } from '../streams/append/notice.ts';
import type { Sequencer } from '../streams/append/sequencer.ts';
import type { Draft, Placed, StoredContent, StoredEvent, UsedIdempotencyKey } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import { awaitConfirmation } from './confirm.ts';
import { type FinishParts, finishRedactions, redactionJob } from './finish-redactions.ts';
import { faultsOfFields, type NamedUnits, namedUnits } from './named-units.ts';

export interface RedactParts extends GetParts, FinishParts {
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly change: ChangeRecords;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly clock: Clock;
  readonly steadyNowMs: () => number;
  readonly nextId: () => string;
  readonly uuid: () => string;
  readonly telemetry: Pick<Telemetry, 'altered' | 'info' | 'warn' | 'error'>;
}

export type RedactAnswer = Answer<'events.redact'>;

/** How long an answer waits until the values are deleted. */
const FINISHED_WITHIN_MS = 10_000;
/** The holds of a tenant that are being changed are read again, as soon as the change can be seen. */
const ATTEMPTS_MAX = 20;
const LOOK_AGAIN_MS = 25;

/** An event of which a caller wants to remove units. */
export interface Redactable {
  readonly eventId: EventId;
  readonly stored: StoredEvent & { readonly content: StoredContent };
  readonly units: NamedUnits;
  /** From the caller. */
  readonly withheld: AuditEvent['redaction'];
}

export function createRedact(parts: RedactParts) {
  return {
    async perform(call: Call, { eventId, redaction }: InputOf<'events.redact'>): Promise<RedactAnswer> {
      const { fields, reason } = redaction;
      const wanted = await redactableIn(call, { eventId, fields }, parts);
      const { requestId } = call.correlation;
      const caller = call.caller?.name;
      parts.telemetry.info('fields of an event are to be redacted', {
        tenant: call.tenant,
        eventId,
        fields: wanted.units.fields.join(', '),
        reason,
        requestId,
        caller,
      });
      if (call.tenantRecord!.fourEyes) {
        // Its confirmation would be refused. Holds are looked for again at the confirmation.
        requireNoHold(call.tenantRecord!, wanted);
        return { kind: 'Accepted', body: await awaitConfirmation(call, wanted, parts) };
      }
      const note = JSON.stringify({ eventId, fields: wanted.units.fields });
      const once = (tenant: TenantRecord) =>
        onceOf(call, tenant, idempotencyNowMs(parts), UNCLASSIFIED, note);
      const { notice, finish } = await commitRedaction(call, wanted, parts, async (request) => {
        const result = await parts.sequencer.append({
          ...request,
          atomic: true,
          once: once(request.tenantRecord),
        });
        if (result.status === 'HoldsChanged') return undefined;
        return placedFirst(result);
      });
      await finish();
      return { kind: 'Done', body: receiptOf(wanted, notice) };
    },
    rules: ({ redaction }: Received['input']): OwnViolation[] =>
      faultsOfFields(receivedMember(redaction, 'fields')).map((detail) => ({ member: 'redaction', detail })),
    /** The first notice of the request is in what is kept of it. */
    answerAgain(_: Call, __: Received, used: UsedIdempotencyKey) {
      const kept = parseJson(used.note) as AwaitingConfirmation | { eventId: EventId; fields: string[] };
      if ('operationId' in kept) return { kind: 'Repeated', body: kept } as const;
      const [notice] = used.outcomes;
      assert(notice !== undefined && 'index' in notice, 'a redaction has a notice');
      const { eventId: noticeId, receivedAtMs } = notice;
      const body = { ...kept, noticeId, redactedAt: instant(receivedAtMs) };
      return { kind: 'Repeated', body } as const;
    },
  };
}

export function receiptOf({ eventId, units }: Pick<Redactable, 'eventId' | 'units'>, notice: Placed) {
  const redactedAt = instant(notice.receivedAtMs);
  return { eventId, fields: [...units.fields], noticeId: notice.eventId, redactedAt };
}

/** Throws EVENT_NOT_FOUND, and VALIDATION_FAILED for fields that are not there, as far as this caller sees it. */
export async function redactableIn(
  call: Call,
  { eventId, fields }: { readonly eventId: EventId; readonly fields: readonly string[] },
  parts: GetParts,
): Promise<Redactable> {
  const { stored, shown } = await readShown(call, eventId, parts);
  const { content } = stored;
  if (!('event' in shown) || shown.event.kind === 'Notice') throw notFound();
  assert(content !== undefined && 'texts' in content, 'what is shown is there');
  const units = namedUnits(fields, content.texts, shown.event, content.deletedPaths);
  if (!('tags' in units)) throw invalid(units);
  const current = await parts.publishedOf(call);
  if (stored.index < current.firstIndex) {
    const issue = 'is of a log that ended with a restore: no notice can follow in it';
    throw invalid([{ field: 'eventId', issue, value: eventId }]);
  }
  const { event, hidden: withheld } = shown;
  return { eventId: event.eventId, stored: { ...stored, content }, units, withheld };
}

function invalid(details: readonly ErrorDetail[]): AuditError {
  const [{ field, issue } = { field: '', issue: '' }] = details;
  return new AuditError('VALIDATION_FAILED', `${field} ${issue}.`, { details });
}

export interface CommitRequest {
  readonly tenant: TenantId;
  readonly tenantRecord: TenantRecord;
  readonly holdsAsOf: string;
  readonly drafts: readonly Draft[];
  readonly jobs: readonly ReturnType<typeof redactionJob>[];
}

/**
 * Commits the notice of a redaction, unless a hold covers the event, as far as this caller may know: throws LEGAL_HOLD_ACTIVE. `commit` gives the placed
 * notice; undefined where holds have changed since. `finish` waits for what follows, for a while.
 */
export async function commitRedaction(
  call: Call,
  { eventId, stored, units, withheld }: Redactable,
  parts: RedactParts,
  commit: (request: CommitRequest) => Promise<Placed | undefined>,
): Promise<{ readonly notice: Placed; readonly finish: () => Promise<void> }> {
  const tenant = call.tenant!;
  const leafIndex = decodeEntry(stored.entry).index;
  const payload = { leafIndex, eventId, tags: [...units.tags], cause: 'Redaction' as const };
  let tenantRecord = call.tenantRecord!;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    requireNoHold(tenantRecord, { stored, withheld });
    const draft = redactionNotice(payload, call.correlation.correlationId, parts);
    const jobs = [redactionJob(parts.nextId(), [draft.eventId])];
    const { holdsAsOf } = tenantRecord;
    const notice = await commit({ tenant, tenantRecord, holdsAsOf, drafts: [draft], jobs });
    if (notice !== undefined) {
      const noted = { tenant, noticeIndexes: [notice.index], eventIds: [eventId] };
      return { notice, finish: () => finishInTime(noted, parts) };
    }
    await wait(parts.clock, LOOK_AGAIN_MS);
    tenantRecord = (await parts.tenants.find(tenant)) ?? tenantRecord;
  }
  throw new AuditError('SERVICE_UNAVAILABLE', 'The holds of this tenant are being changed; try again.');
}

/** A notice of kind 2. */
export function redactionNotice(
  payload: { leafIndex: number; eventId: string; tags: string[]; cause: 'Redaction' | 'Erasure' },
  correlationId: string,
  { nextId, uuid, clock }: Pick<RedactParts, 'nextId' | 'uuid' | 'clock'>,
): Draft {
  return draftNotice(
    {
      kind: KINDS.redaction,
      action: payload.cause === 'Erasure' ? 'Erase.Event' : 'Redact.Event',
      resource: { resourceType: 'Event', resourceId: payload.eventId },
      payload,
      correlationId: isUuid(correlationId) ? correlationId : uuid(),
    },
    { eventId: nextId(), nowMs: clock.now() },
  );
}

function requireNoHold(
  tenant: TenantRecord,
  { stored, withheld }: Pick<Redactable, 'stored' | 'withheld'>,
): void {
  if (isHeld(tenant, stored, withheld))
    throw new AuditError('LEGAL_HOLD_ACTIVE', ERRORS.LEGAL_HOLD_ACTIVE.meaning);
}

/** `withheld`: from the caller whose answer tells it. */
export function isHeld(
  tenant: TenantRecord,
  stored: StoredEvent & { readonly content: StoredContent },
  withheld?: AuditEvent['redaction'],
): boolean {
  const holds = holdsOn(tenant);
  if (holds.isEmpty) return false;
  const { index, content, classification } = stored;
  const facts = readFacts(content.texts, classification);
  return 'fault' in facts || holds.isHeldFor(index + 1, storedFacts(facts, content.texts[1]), withheld);
}

/** The first notice of a commit; throws for a repeat that another process answers. */
export function placedFirst(result: {
  readonly status: string;
  readonly outcomes?: readonly unknown[];
}): Placed {
  const [first] = result.status === 'Done' ? (result.outcomes ?? []) : [];
  if (first === undefined)
    throw new AuditError('SERVICE_UNAVAILABLE', 'The same request is being answered elsewhere; ask again.');
  return first as Placed;
}

/**
 * The notice holds in any case, and so does its job: what fails now is done later, and what takes longer goes on while the answer
 * is given.
 */
async function finishInTime(
  noted: Parameters<typeof finishRedactions>[0],
  { clock, telemetry, ...parts }: RedactParts,
): Promise<void> {
  const deadline = new Deadline();
  const finished = new AbortController();
  const work = finishRedactions(noted, deadline, parts)
    .catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      telemetry.warn('redacted values are deleted later', { tenant: noted.tenant, reason });
    })
    .finally(() => finished.abort());
  await Promise.race([work, wait(clock, FINISHED_WITHIN_MS, finished.signal)]);
  deadline.pass(new Error('it takes longer'));
}
