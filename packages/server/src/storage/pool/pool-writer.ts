// Decides the requests of a pool, one after the other, inside one transaction: a request is answered from a used key,
// recognised, or appended. Both backends use this code.

import { ok as assert } from 'node:assert/strict';
import { EvidenceError, KINDS } from '@tallystick/evidence';
import type { ChangeRefusal } from '../../records/records.ts';
import { isRepeat, type RepeatClearance, UNCLASSIFIED } from '../../repeats.ts';
import type {
  AppendOutcome,
  AppendResult,
  AppendTime,
  DraftOutcome,
  Once,
  SealRequest,
  SealResult,
} from '../../streams/log.ts';
import type { IndexSpan } from '../../streams/removal/removal.ts';
import { CLASSIFICATIONS, classificationAt } from '../rows/classification-column.ts';
import { purgedSpans } from '../rows/purge-notice.ts';
import { redactedUnits } from '../rows/redaction-notice.ts';
import type { PooledDraft, PooledRequest } from './append-message.ts';
import type { Head } from './head.ts';
import type { PoolCommitments } from './pool-commitments.ts';
import type { PoolTables } from './pool-tables.ts';
import { recognize, type Recognized } from './recognize.ts';
import { StreamWriter, type StreamWriterOptions } from './stream-writer.ts';
import { orTenantFault } from './tenant-fault.ts';

type KeyAnswer = Extract<AppendResult, { status: 'Repeated' | 'KeyReused' }>;

/** The commitments of a request's drafts. */
export interface Given {
  readonly commitments: PoolCommitments;
  /** The row of its first draft. */
  readonly firstRow: number;
  readonly now: AppendTime;
}

export class PoolWriter<H extends Head> {
  readonly #tables: PoolTables<H>;
  readonly streams: StreamWriter<H>;

  constructor(tables: PoolTables<H>, options: StreamWriterOptions) {
    this.#tables = tables;
    this.streams = new StreamWriter(tables, options);
  }

  append(request: PooledRequest, given: Given): AppendOutcome {
    const head = this.#tables.head(request.tenant);
    if (head === undefined) {
      return { status: 'Faulty', error: new Error(`there is no tenant ${request.tenant}`) };
    }
    const { once } = request;
    const answered = this.#answer(head, once, request.clearance, given.now);
    if (answered !== undefined) return answered;
    const refused = this.#refusalOf(head, request);
    if (refused !== undefined) return refused;
    const spans = this.#purgedBy(request, head);
    if (spans instanceof Error) return { status: 'Faulty', error: spans };
    const redacted = redactedBy(request, head);
    if (redacted instanceof Error) return { status: 'Faulty', error: redacted };
    const recognized = orTenantFault(head.tenantId, () =>
      recognize(request, (eventId) => this.#tables.storedId(head, eventId)),
    );
    const outcomes = this.#place(request, recognized, head, given);
    // A request that changes nothing uses its key up, one whose events are all refused does not.
    if (once !== undefined && (outcomes.length === 0 || outcomes.some((outcome) => 'index' in outcome))) {
      this.#tables.putUsedKey(head, classedWith(once, recognized), outcomes);
    }
    for (const record of request.records) this.#tables.putRecord(head, record);
    for (const job of request.jobs) this.#tables.putJob(head, job);
    for (const span of spans) {
      const notice = outcomes[request.drafts.findIndex(isPurge)];
      if (notice?.status === 'Appended')
        this.#tables.putDeletion(head, { ...span, noticeIndex: notice.index });
    }
    for (const [draft, index] of redacted) {
      const notice = outcomes[draft];
      if (notice?.status === 'Appended')
        this.#tables.putRedaction(head, { index, noticeIndex: notice.index });
    }
    return { status: 'Done', outcomes };
  }

  /** Its records are each a different one. */
  #refusalOf(head: H, { records, holdsAsOf }: PooledRequest): ChangeRefusal | undefined {
    if (holdsAsOf !== undefined && holdsAsOf !== this.#tables.holdsAsOf(head))
      return { status: 'HoldsChanged' };
    for (const record of records) {
      const version = this.#tables.recordVersion(head, record);
      if (version !== record.version - 1) return { status: 'Stale', id: record.id, version };
      const { kind, uniqueName } = record;
      if (uniqueName === undefined) continue;
      const beside = records.some(
        (each) => each !== record && each.kind === kind && each.uniqueName === uniqueName,
      );
      if (beside || this.#tables.isNameTaken(head, record)) return { status: 'NameTaken', uniqueName };
    }
    return undefined;
  }

  /**
   * The spans that the purge notice of the request removes, or an error. No two notices remove the same entry, so that
   * the index of an event leads to one notice.
   */
  #purgedBy({ drafts }: PooledRequest, head: H): readonly IndexSpan[] | Error {
    const [notice, ...others] = drafts.filter(isPurge);
    if (notice === undefined) return [];
    if (others.length > 0) return new Error('a request has one purge notice at most');
    const { logFirstIndex, nextIndex: endIndex } = head;
    try {
      const spans = purgedSpans(notice.texts[1], { logFirstIndex, endIndex });
      const again = spans.find((span) => this.#tables.isDeletedIn(head, span));
      if (again === undefined) return spans;
      const { firstIndex, endIndex: end } = again;
      return new Error(`a part of the entries ${firstIndex} to ${end - 1} was removed before`);
    } catch (error) {
      if (error instanceof EvidenceError) return error;
      throw error;
    }
  }

  /** `isThere`: the tenant has such a stream. */
  seal({ tenant, streamId, once }: SealRequest, now: AppendTime, isThere: boolean): SealResult {
    const head = this.#tables.head(tenant);
    if (head === undefined) return { status: 'Unknown' };
    const answered = this.#answer(head, once, UNCLASSIFIED, now);
    if (answered !== undefined) return answered;
    if (!isThere) return { status: 'Unknown' };
    if (head.stream?.streamId !== streamId) return { status: 'SealedBefore' };
    if (head.stream.firstReceivedAtMs === undefined) return { status: 'Empty' };
    const notice = this.streams.seal(head, 'Request', now.nowMs);
    if (once !== undefined) this.#tables.putUsedKey(head, once, [notice]);
    return { status: 'Sealed', notice };
  }

  /** The result for a request whose key was used before. */
  #answer(
    head: H,
    once: Once | undefined,
    clearance: RepeatClearance,
    { steadyNowMs }: AppendTime,
  ): KeyAnswer | undefined {
    if (once === undefined) return undefined;
    const used = orTenantFault(head.tenantId, () => this.#tables.usedKey(head, once, steadyNowMs));
    if (used === undefined) return undefined;
    const { fingerprint } = once;
    return isRepeat(used, { fingerprint, clearance })
      ? { status: 'Repeated', used }
      : { status: 'KeyReused' };
  }

  #place(
    { drafts, atomic }: PooledRequest,
    recognized: readonly Recognized[],
    head: H,
    { commitments, firstRow, now }: Given,
  ): DraftOutcome[] {
    if (atomic && recognized.some((found) => found === 'Conflict')) {
      return drafts.map(({ eventId }, i) => ({
        status: recognized[i] === 'Conflict' ? 'Conflict' : 'NotAppended',
        eventId,
      }));
    }
    const outcomes: DraftOutcome[] = [];
    for (let i = 0; i < drafts.length; i++) {
      const draft = drafts[i]!;
      const found = outcomeOf(recognized[i], draft, outcomes);
      outcomes.push(found ?? this.streams.append(draft, commitments, firstRow + i, head, now.nowMs));
    }
    return outcomes;
  }
}

/** The events of which redaction notices of the request remove something, by the place of the notice; or an error. */
function redactedBy({ drafts }: PooledRequest, head: Head): ReadonlyMap<number, number> | Error {
  const redacted = new Map<number, number>();
  const { logFirstIndex, nextIndex: endIndex } = head;
  try {
    for (const [place, { kind, texts }] of drafts.entries())
      if (kind === KINDS.redaction)
        redacted.set(place, redactedUnits(texts[1], { logFirstIndex, endIndex }).index);
    return redacted;
  } catch (error) {
    if (error instanceof EvidenceError) return error;
    throw error;
  }
}

/** Whether a draft is a notice that removes content. */
export function isRemoval({ kind }: Pick<PooledDraft, 'kind'>): boolean {
  return kind === KINDS.purge || kind === KINDS.redaction;
}

export function isPurge({ kind }: Pick<PooledDraft, 'kind'>): boolean {
  return kind === KINDS.purge;
}

/** A recognised event may have been stored with a higher classification than it would get now. */
function classedWith(once: Once, recognized: readonly Recognized[]): Once {
  let highest = CLASSIFICATIONS.indexOf(once.classification);
  for (const found of recognized)
    if (typeof found === 'object') highest = Math.max(highest, CLASSIFICATIONS.indexOf(found.classification));
  return { ...once, classification: classificationAt(highest) };
}

/** The outcome of a draft whose id is stored already; undefined for one that must be appended. */
function outcomeOf(
  found: Recognized,
  { eventId }: PooledDraft,
  before: readonly DraftOutcome[],
): DraftOutcome | undefined {
  if (found === undefined) return undefined;
  if (found === 'Conflict') return { status: 'Conflict', eventId };
  const placed = typeof found === 'number' ? before[found] : found;
  assert(placed !== undefined && 'index' in placed, 'an earlier draft with the same id was appended');
  return { status: 'Duplicate', eventId, index: placed.index, receivedAtMs: placed.receivedAtMs };
}
