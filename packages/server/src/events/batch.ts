// Many events in one request: each is validated alone, the sound ones are appended in one commit – in a transactional
// batch all of them or none – and the answer has the outcome of each. If the envelope is wrong, the answer lists its
// faults and those of the events, and nothing is stored.

import { ok as assert } from 'node:assert/strict';
import { type Answer, type Classification, LIMITS, type TenantId } from '@tallystick/contract';
import { foreignTenant } from '../access/foreign-tenant.ts';
import { higher, isClassification } from '../access/roles.ts';
import type { TenantRecord } from '../access/tenants.ts';
import { type Call, keyReused, type Received, receivedMember } from '../call.ts';
import { repeatClearanceOf, requestClearanceOf } from '../policies/repeat-clearance.ts';
import { giveBack } from '../runtime/give-back.ts';
import { pauseForOthers, pausesBy } from '../runtime/pause.ts';
import type { Decision } from '../policies/decide.ts';
import type { RepeatClearance } from '../repeats.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Draft, DraftOutcome, UsedIdempotencyKey } from '../streams/log.ts';
import { idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import { openBatch, type ReceivedBatch, type ValidateEnvelope } from './batch-request.ts';
import {
  batchAnswer,
  type BatchOutcome,
  noteOf,
  readNote,
  refusalByCode,
  refusalOfWhole,
  RESULT_DETAILS_MAX,
} from './batch-result.ts';
import { type Acceptance, acceptanceOf, decisionOn, draftsOf } from './draft.ts';
import { type IngestParts, tenantOf } from './ingest.ts';
import {
  type EventRefusal,
  type FieldRules,
  isRefusal,
  type ParsedEvent,
  type ValidateEvent,
} from './validate-event.ts';
import { isPlain, type PlainEvent } from './plain-event.ts';
import { PlainTexts } from './plain-texts.ts';
import { latestTimestamp } from './timestamp.ts';

export interface BatchParts extends IngestParts {
  readonly validateEnvelope: ValidateEnvelope;
  readonly fields: Pick<FieldRules, 'message'>;
}

type BatchAnswer = Answer<'events.ingestBatch'>;

export function createBatchIngest(parts: BatchParts) {
  const { sequencer, clock, ids, validateEnvelope } = parts;

  const answerAgain = async (
    call: Call,
    received: Received,
    used: UsedIdempotencyKey,
  ): Promise<BatchAnswer> => {
    const batch = openBatch(received, validateEnvelope);
    const { batchId, acceptedAtMs, refused } = readNote(used.note);
    const codes = new Map(refused);
    const validation = { validateEvent: parts.validateEvent, tenant: tenantIdOf(call), nowMs: acceptedAtMs };
    const { refusals: found } = await validateSome(batch, codes.keys(), validation);
    const refusals = new Map<number, EventRefusal>();
    for (const [index, code] of codes) {
      const refusal = found.get(index);
      refusals.set(index, refusal?.code === code ? refusal : refusalByCode(code));
    }
    const { transactional } = batch;
    return batchAnswer(
      call,
      { batchId, acceptedAtMs, transactional, refusals, outcomes: used.outcomes },
      true,
    );
  };

  return {
    async performUnvalidated(call: Call, received: Received): Promise<BatchAnswer> {
      const batch = openBatch(received, validateEnvelope);
      const acceptedAtMs = clock.now();
      const tenantId = tenantIdOf(call);
      const validation = { validateEvent: parts.validateEvent, tenant: tenantId, nowMs: acceptedAtMs };
      const { sound, refusals } = await validateSome(batch, batch.events.keys(), validation);
      const { transactional, fault } = batch;
      if (fault !== undefined) throw refusalOfWhole(fault, refusals, parts.fields.message);
      const known = { batchId: ids.nextId(), acceptedAtMs, transactional, refusals };
      if (sound.length === 0 || (transactional && refusals.size > 0)) {
        return batchAnswer(call, notProcessed(known, sound.length), false);
      }
      const tenant = await tenantOf(call, parts.tenancy);
      const acceptance = acceptanceOf(call, tenant, acceptedAtMs);
      const texts = new PlainTexts(sound, acceptance, ids.uuid);
      const decisions = await decideAll(sound, acceptance, clock);
      const drafts = draftsOf(sound, texts, acceptance, ids, decisions);
      // Only a request with a key may have to be answered again, and read for that.
      if (call.once === undefined && received.text !== undefined) giveBack(received.text);
      const once =
        call.once &&
        onceOf(
          call,
          tenant,
          idempotencyNowMs(parts),
          highestIn(batch, drafts, refusals, tenant),
          noteOf(known),
        );
      // The caller has been told that it took too long; storing it now would surprise them.
      call.deadline.throwIfPassed();
      const clearance = await clearanceFor(call, drafts, refusals, clock);
      const wanted = { tenant: tenant.tenantId, drafts, atomic: transactional, once, clearance };
      const result = await sequencer.append(wanted);
      texts.giveBack();
      if (result.status === 'Repeated') return answerAgain(call, received, result.used);
      if (result.status === 'KeyReused') throw keyReused();
      return batchAnswer(call, { ...known, outcomes: result.outcomes }, false);
    },
    answerAgain,
    commitFindsKey: true as const,
  };
}

/** A key stands for the refused events too. */
async function clearanceFor(
  call: Call,
  drafts: readonly Draft[],
  refusals: ReadonlyMap<number, EventRefusal>,
  clock: Clock,
): Promise<RepeatClearance> {
  return refusals.size > 0 ? requestClearanceOf(call) : repeatClearanceOf(call, drafts, clock);
}

/** Rules into the payload may take long. */
async function decideAll(
  events: readonly (ParsedEvent | PlainEvent)[],
  acceptance: Acceptance,
  clock: Pick<Clock, 'monotonicNs'>,
): Promise<Decision[]> {
  const decisions: Decision[] = [];
  const pause = pausesBy(clock);
  for (const event of events) {
    decisions.push(decisionOn(event, acceptance));
    const due = pause();
    if (due !== undefined) await due;
  }
  return decisions;
}

interface Validation {
  readonly validateEvent: ValidateEvent;
  readonly tenant: TenantId;
  readonly nowMs: number;
}

/** Parsing so many events, or listing so many details, takes a few milliseconds. */
const WORK_MAX = 500;

/** Validates the events at these places, and lets other work run in between. */
async function validateSome(
  batch: ReceivedBatch,
  places: Iterable<number>,
  { validateEvent, tenant, nowMs }: Validation,
) {
  const latest = latestTimestamp(nowMs);
  const sound: (ParsedEvent | PlainEvent)[] = [];
  const refusals = new Map<number, EventRefusal>();
  let detailsLeft = RESULT_DETAILS_MAX;
  let work = 0;
  for (const index of places) {
    const validated = validateOne(validateEvent, batch, index, tenant, latest, detailsLeft);
    if (isRefusal(validated)) {
      refusals.set(index, validated);
      detailsLeft -= validated.details.length;
      work += validated.details.length;
    } else sound.push(validated);
    if (isRefusal(validated) || !isPlain(validated)) work += 1;
    if (work < WORK_MAX) continue;
    await pauseForOthers();
    work = 0;
  }
  return { sound, refusals };
}

const UNBROKEN: [] = [];

function validateOne(
  validateEvent: ValidateEvent,
  { events, broken }: ReceivedBatch,
  index: number,
  tenant: TenantId,
  latest: string,
  detailsLeft: number,
): ParsedEvent | PlainEvent | EventRefusal {
  const event = events[index];
  const path = `events[${index}]`;
  // As the gateway does with a single event.
  const foreign = foreignTenant(receivedMember(event, 'tenantId'), `${path}.tenantId`, tenant);
  if (foreign !== undefined) return foreign;
  // At least the first, which the message quotes.
  const detailsMax = Math.min(Math.max(detailsLeft, 1), LIMITS.errorDetailsMax);
  return validateEvent(
    event,
    { path, broken: broken.get(index) ?? UNBROKEN, unlisted: 0, detailsMax },
    latest,
  );
}

/** The highest classification of its events, refused ones included: a repeat of the batch repeats them, too. */
function highestIn(
  { events }: ReceivedBatch,
  drafts: readonly Draft[],
  refusals: ReadonlyMap<number, EventRefusal>,
  { defaultClassification }: TenantRecord,
): Classification {
  let highest = defaultClassification;
  for (const { classification } of drafts) highest = higher(highest, classification);
  for (const index of refusals.keys()) {
    const hint = receivedMember(events[index], 'classification') ?? defaultClassification;
    // An unknown word could mean any classification.
    highest = higher(highest, isClassification(hint) ? hint : 'Secret');
  }
  return highest;
}

/** Sound events in a batch that failed before anything was appended. */
function notProcessed(known: Omit<BatchOutcome, 'outcomes'>, count: number): BatchOutcome {
  const outcomes = Array.from(
    { length: count },
    (): DraftOutcome => ({ status: 'NotAppended', eventId: '' }),
  );
  return { ...known, outcomes };
}

function tenantIdOf({ tenant }: Call): TenantId {
  assert(tenant !== undefined, 'events belong to a tenant');
  return tenant;
}
