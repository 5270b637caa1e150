// Four eyes: what removes content waits until another caller with the permission confirms it, for some days. A redaction that
// waits is a record, an erasure that waits is one anyway; any node may confirm, also after a restart.

import {
  type Answer,
  AuditError,
  type AwaitingConfirmation,
  type BackgroundOperation,
  ERRORS,
  type InputOf,
  type OperationId,
} from '@tallystick/contract';
import { KINDS, parseJson } from '@tallystick/evidence';
import type { Tenants } from '../access/tenants.ts';
import type { Call, Received } from '../call.ts';
import { seesEverything } from '../policies/sight.ts';
import type { RecordWrite } from '../records/change.ts';
import type { GenuineRecords } from '../records/genuine-records.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import { instant } from '../runtime/clock.ts';
import { idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { Placed, UsedIdempotencyKey } from '../streams/log.ts';
import {
  CONFIRMED_WITHIN_MS,
  contentOfPending,
  type ErasureRecord,
  erasureWrite,
  type Party,
  PENDING_KIND,
  type PendingRedaction,
  showErasure,
} from './erasure.ts';
import { commitRedaction, receiptOf, redactableIn, type Redactable, type RedactParts } from './redact.ts';

export interface ConfirmParts extends RedactParts {
  readonly erasures: GenuineRecords<ErasureRecord>;
  readonly pending: GenuineRecords<PendingRedaction>;
  readonly tenants: Pick<Tenants, 'find' | 'withNewFingerprints'>;
  /** There is an erasure to go on with. */
  readonly wake: () => void;
}

type Waiting = Pick<ErasureRecord, 'tenantId' | 'version' | 'requested'> & { readonly state: string };

export function createConfirm(parts: ConfirmParts) {
  return {
    async perform(
      call: Call,
      { operationId }: InputOf<'operations.confirm'>,
    ): Promise<Answer<'operations.confirm'>> {
      const pending = await parts.pending.find(call.tenant!, operationId);
      const body =
        pending === undefined
          ? await confirmErasure(call, await parts.erasures.find(call.tenant!, operationId), parts)
          : await confirmRedaction(call, pending, parts);
      return { kind: 'Done', body };
    },
    answerAgain: (_: Call, __: Received, { note }: UsedIdempotencyKey) =>
      ({ kind: 'Repeated', body: parseJson(note) as Answer<'operations.confirm'>['body'] }) as const,
  };
}

/** Undefined if there is no such operation. */
export async function operationOf(
  call: Call,
  operationId: OperationId,
  parts: Pick<ConfirmParts, 'pending' | 'erasures' | 'clock'>,
): Promise<BackgroundOperation | undefined> {
  const pending = await parts.pending.find(call.tenant!, operationId);
  const erasure = pending === undefined ? await parts.erasures.find(call.tenant!, operationId) : undefined;
  const found = pending ?? erasure;
  if (found === undefined || isOver(found, parts)) return undefined;
  const { state, requested, confirmed } = found;
  const isDone = state === 'Completed';
  const ofRedaction = { matched: 1, erased: isDone ? 1 : 0 };
  // To others those of an erasure would tell of events that these do not see.
  const counts = erasure === undefined ? ofRedaction : seesEverything(call) ? erasure.counts : undefined;
  const { matched = 0, erased = 0 } = counts ?? {};
  const completedAtMs = erasure?.completedAtMs ?? (isDone ? confirmed?.atMs : undefined);
  return {
    operationId,
    kind: pending === undefined ? 'Erasure' : 'Redaction',
    status: state,
    progress: {
      percent: isDone ? 100 : Math.min(99, Math.floor((100 * erased) / Math.max(1, matched))),
      processedEvents: erased,
      ...(matched > 0 && { totalEvents: matched }),
    },
    requestedAt: instant(requested.atMs),
    requestedBy: requested.name,
    ...(completedAtMs !== undefined && { completedAt: instant(completedAtMs) }),
  };
}

/** Stores the request for a redaction until somebody else confirms it. */
export async function awaitConfirmation(
  call: Call,
  { eventId, units }: Redactable,
  parts: RedactParts,
): Promise<AwaitingConfirmation> {
  const operationId = parts.nextId();
  const pending: PendingRedaction = {
    operationId,
    tenantId: call.tenant!,
    version: 1,
    state: 'AwaitingConfirmation',
    requested: partyOf(call, parts),
    confirmed: undefined,
    eventId,
    fields: units.fields,
    receipt: undefined,
  };
  const answer = { operationId, status: 'AwaitingConfirmation' } as const;
  const note = JSON.stringify(answer);
  const result = await parts.change({
    owner: pending.tenantId,
    writes: [writeOf(call, pending, 'RedactionRequested')],
    correlationId: call.correlation.correlationId,
    once: onceOf(call, call.tenantRecord!, idempotencyNowMs(parts), UNCLASSIFIED, note),
  });
  requireDone(result);
  return answer;
}

async function confirmRedaction(call: Call, pending: PendingRedaction, parts: ConfirmParts) {
  requireAnother(call, pending, parts);
  const { eventId, receipt } = pending;
  if (receipt !== undefined) {
    const redactedAt = instant(pending.confirmed!.atMs);
    return { eventId, fields: [...receipt.fields], noticeId: receipt.noticeId, redactedAt };
  }
  const wanted = await redactableIn(call, pending, parts);
  const confirmed = partyOf(call, parts);
  const { notice, finish } = await commitRedaction(call, wanted, parts, async (request) => {
    const { tenant, tenantRecord, holdsAsOf, drafts, jobs } = request;
    const noticeId = drafts[0]!.eventId;
    const { fields } = wanted.units;
    const next: PendingRedaction = {
      ...pending,
      version: pending.version + 1,
      state: 'Completed',
      confirmed,
      receipt: { noticeId, fields },
    };
    const note = JSON.stringify({ eventId, fields, noticeId, redactedAt: instant(confirmed.atMs) });
    const result = await parts.change({
      owner: tenant,
      writes: [writeOf(call, next, 'RedactionConfirmed')],
      correlationId: call.correlation.correlationId,
      once: onceOf(call, tenantRecord, idempotencyNowMs(parts), UNCLASSIFIED, note),
      drafts,
      jobs,
      holdsAsOf,
    });
    if (result.status === 'HoldsChanged') return undefined;
    requireDone(result);
    return result.status === 'Done' ? (result.outcomes?.at(-1) as Placed) : undefined;
  });
  await finish();
  return { ...receiptOf(wanted, notice), redactedAt: instant(confirmed.atMs) };
}

async function confirmErasure(call: Call, erasure: ErasureRecord | undefined, parts: ConfirmParts) {
  if (erasure === undefined || (erasure.state !== 'AwaitingConfirmation' && erasure.confirmed === undefined))
    throw notFound();
  requireAnother(call, erasure, parts);
  if (erasure.state !== 'AwaitingConfirmation') return showErasure(erasure, call);
  const next: ErasureRecord = {
    ...erasure,
    version: erasure.version + 1,
    state: 'Pending',
    confirmed: partyOf(call, parts),
  };
  const body = showErasure(next, call);
  const known = call.tenantRecord!;
  const tenant = erasure.isOfAll ? await parts.tenants.withNewFingerprints(known) : known;
  const once = onceOf(call, tenant, idempotencyNowMs(parts), UNCLASSIFIED, JSON.stringify(body));
  const { requestId } = call.correlation;
  const result = await parts.change({
    owner: next.tenantId,
    writes: [erasureWrite(next, { action: 'Confirm.Erasure', act: 'ErasureConfirmed', requestId })],
    correlationId: next.correlationId,
    once,
  });
  requireDone(result);
  parts.wake();
  return body;
}

function writeOf({ correlation }: Call, pending: PendingRedaction, act: string): RecordWrite {
  const { operationId, eventId, version } = pending;
  return {
    kind: PENDING_KIND,
    id: operationId,
    version,
    content: contentOfPending(pending),
    notice: {
      kind: KINDS.administration,
      action: version === 1 ? 'Request.Redaction' : 'Confirm.Redaction',
      resource: { resourceType: 'Event', resourceId: eventId },
      payload: { act, requestId: correlation.requestId, subjectIds: [operationId, eventId], count: 1 },
    },
  };
}

function partyOf({ caller }: Call, { clock }: Pick<RedactParts, 'clock'>): Party {
  const { name, identity } = caller!;
  return { name, identity, atMs: clock.now() };
}

function requireAnother(call: Call, waiting: Waiting, parts: Pick<RedactParts, 'clock'>): void {
  if (isOver(waiting, parts)) throw notFound();
  if (waiting.requested.identity === call.caller!.identity)
    throw new AuditError('FORBIDDEN', 'Who has asked for it cannot confirm it: another caller must.');
}

function isOver({ state, requested }: Waiting, { clock }: Pick<RedactParts, 'clock'>): boolean {
  return state === 'AwaitingConfirmation' && clock.now() - requested.atMs > CONFIRMED_WITHIN_MS;
}

/** A change that another one has come before is asked for again. */
function requireDone({ status }: { readonly status: string }): void {
  if (status === 'Done') return;
  throw new AuditError('SERVICE_UNAVAILABLE', 'The same operation is being confirmed elsewhere; ask again.');
}

function notFound(): AuditError {
  return new AuditError('OPERATION_NOT_FOUND', ERRORS.OPERATION_NOT_FOUND.meaning);
}
