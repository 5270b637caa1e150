// Accepts one event: validates it, makes a draft of it and appends it. The receipt is given when the event is durable and chained,
// and given again, word for word, when the request is repeated under its key or the event under its id, by a caller who
// may learn of that.

import { ok as assert } from 'node:assert/strict';
import { type Answer, AuditError, type EventId, LIMITS, type TenantId } from '@tallystick/contract';
import type { Tenancy } from '../access/tenancy.ts';
import type { TenantRecord } from '../access/tenants.ts';
import { type Call, keyReused, type Received } from '../call.ts';
import { repeatClearanceOf } from '../policies/repeat-clearance.ts';
import { instant } from '../runtime/clock.ts';
import type { DraftOutcome, Placed, UsedIdempotencyKey } from '../streams/log.ts';
import { idempotencyNowMs, type IdempotencyTime, onceOf } from '../streams/append/idempotency-key.ts';
import type { Sequencer } from '../streams/append/sequencer.ts';
import { conflictOf } from './conflict.ts';
import { acceptanceOf, draftsOf, type NewIds } from './draft.ts';
import { isRefusal, type ValidateEvent } from './validate-event.ts';
import { PlainTexts } from './plain-texts.ts';
import { rememberLast } from './remember-last.ts';
import { latestTimestamp } from './timestamp.ts';

export interface IngestParts extends IdempotencyTime {
  readonly validateEvent: ValidateEvent;
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly ids: NewIds;
}

type IngestAnswer = Answer<'events.ingest'>;

export function createIngest(parts: IngestParts) {
  const { validateEvent, sequencer, clock, ids } = parts;
  const latestAt = rememberLast(latestTimestamp);
  const textOf = rememberLast(instant);
  return {
    async performUnvalidated(call: Call, received: Received): Promise<IngestAnswer> {
      const nowMs = clock.now();
      const { input, violations, unlisted } = received;
      const at = { path: '', broken: violations, unlisted, detailsMax: LIMITS.errorDetailsMax };
      const validated = validateEvent(input['event'], at, latestAt(nowMs));
      if (isRefusal(validated)) throw new AuditError(validated.code, validated.message, validated);
      const tenant = await tenantOf(call, parts.tenancy);
      const acceptance = acceptanceOf(call, tenant, nowMs);
      const drafts = draftsOf(
        [validated],
        new PlainTexts([validated], acceptance, ids.uuid),
        acceptance,
        ids,
      );
      const once = onceOf(call, tenant, idempotencyNowMs(parts), drafts[0]!.classification);
      // The caller has been told that it took too long; storing it now would surprise them.
      call.deadline.throwIfPassed();
      const { tenantId } = tenant;
      const clearance = await repeatClearanceOf(call, drafts, clock);
      const result = await sequencer.append({ tenant: tenantId, drafts, atomic: true, once, clearance });
      if (result.status === 'Repeated') return answerAgain(call, received, result.used);
      if (result.status === 'KeyReused') throw keyReused();
      const outcome = placedOf(result.outcomes[0]);
      const isNew = outcome.status === 'Appended';
      return receipt(isNew ? 'Created' : 'Repeated', tenantId, outcome.eventId, textOf(outcome.receivedAtMs));
    },
    answerAgain,
    commitFindsKey: true as const,
  };
}

function answerAgain(call: Call, _: Received, used: UsedIdempotencyKey): IngestAnswer {
  assert(call.tenant !== undefined, 'a key was used up in a tenant');
  const { eventId, receivedAtMs } = placedOf(used.outcomes[0]);
  return receipt('Repeated', call.tenant, eventId, instant(receivedAtMs));
}

function receipt(
  kind: 'Created' | 'Repeated',
  tenantId: TenantId,
  eventId: EventId,
  timestamp: string,
): IngestAnswer {
  const idempotent = kind === 'Repeated';
  return {
    kind,
    body: { eventId, tenantId, status: 'Accepted', timestamp, message: 'Event accepted.', idempotent },
  };
}

function placedOf(outcome: DraftOutcome | undefined): Placed {
  assert(outcome !== undefined, 'every draft has an outcome');
  if (outcome.status === 'Conflict') {
    const { code, message, details } = conflictOf(outcome.eventId, 'eventId');
    throw new AuditError(code, message, { details });
  }
  assert(outcome.status !== 'NotAppended', 'a draft alone in its request is appended or refused');
  return outcome;
}

/** The tenant's record; its first write makes it. */
export function tenantOf(
  call: Call,
  tenancy: Pick<Tenancy, 'provide'>,
): TenantRecord | Promise<TenantRecord> {
  if (call.tenantRecord !== undefined) return call.tenantRecord;
  assert(call.tenant !== undefined, 'an event belongs to a tenant');
  return tenancy.provide(call.tenant);
}
