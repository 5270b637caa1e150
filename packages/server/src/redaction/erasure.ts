// An erasure of a person, and a redaction that waits for a second caller, as the service keeps them: records of their tenant.
// They name ids and paths alone. By which values an erasure finds its events stands in its job, as HMACs under a key that
// goes with it.

import { createHash } from 'node:crypto';
import type { Erasure, ErasureId, EventId, OperationId, TenantId } from '@tallystick/contract';
import { KINDS, parseJson } from '@tallystick/evidence';
import type { Call } from '../call.ts';
import { seesEverything } from '../policies/sight.ts';
import type { RecordWrite } from '../records/change.ts';
import type { RecordContent } from '../records/record-macs.ts';
import type { StoredRecord } from '../records/records.ts';
import { instant } from '../runtime/clock.ts';

export const ERASURE_KIND = 'Erasure';
export const PENDING_KIND = 'PendingRedaction';

/** Who asked, and who confirmed; `identity` stays the same when a key is rotated. */
export interface Party {
  readonly name: string;
  readonly identity: string;
  readonly atMs: number;
}

/** What an erasure has counted once it went through the log. */
export interface ErasureCounts {
  readonly matched: number;
  readonly erased: number;
  /** Of those, the ones before the first event that a hold keeps: later walks begin there. */
  readonly settled: number;
  readonly held: number;
  /** In the tenant's sequence: the first event that a hold keeps, and the end of what is looked through. */
  readonly firstHeld: number | null;
  readonly end: number;
  /** Some of the events are of a log that ended with a restore, so that they stay. */
  readonly isOlder?: boolean;
}

export interface ErasureRecord {
  readonly erasureId: ErasureId;
  readonly tenantId: TenantId;
  readonly version: number;
  readonly state: Erasure['status'];
  readonly requested: Party;
  readonly confirmed: Party | undefined;
  readonly noticeId: EventId;
  /** Of all of its notices. */
  readonly correlationId: string;
  /** The whole tenant. */
  readonly isOfAll: boolean;
  /** hashOfJob; undefined for one that was asked for before there was any. */
  readonly jobHash: string | undefined;
  readonly fields: readonly string[] | undefined;
  readonly counts: ErasureCounts | undefined;
  readonly completedAtMs: number | undefined;
  readonly failureReason: string | undefined;
}

export interface PendingRedaction {
  readonly operationId: OperationId;
  readonly tenantId: TenantId;
  readonly version: number;
  readonly state: 'AwaitingConfirmation' | 'Completed';
  readonly requested: Party;
  readonly confirmed: Party | undefined;
  readonly eventId: EventId;
  readonly fields: readonly string[];
  /** Once it is confirmed. */
  readonly receipt: { readonly noticeId: EventId; readonly fields: readonly string[] } | undefined;
}

/** An operation that nobody has confirmed within this time is none any more. */
export const CONFIRMED_WITHIN_MS = 7 * 86_400_000;

/**
 * Jobs are no records: somebody who can write to their table could have another person erased, or the whole tenant, under signed
 * notices. So the record says which job it is. With the key in the job, the hash tells nothing of the person.
 */
export function hashOfJob(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}

/** Of a genuine record. */
export function erasureIn({ owner, id, version, body }: StoredRecord): ErasureRecord {
  const {
    counts,
    uniqueName: _,
    ...read
  } = parseJson(body) as Omit<ErasureRecord, 'erasureId' | 'tenantId' | 'version'> & { uniqueName: string };
  return { ...read, counts, erasureId: id, tenantId: owner, version };
}

/** A version of it, with the notice that tells of it. */
export function erasureWrite(
  erasure: ErasureRecord,
  { action, act, requestId, count = 1 }: ErasureNotice,
): RecordWrite {
  const { tenantId: _, erasureId: id, version, ...rest } = erasure;
  // Notices are counted by it.
  const content = { ...rest, uniqueName: rest.correlationId };
  const resource = { resourceType: 'Erasure', resourceId: id };
  const payload = { act, requestId, subjectIds: [id], count };
  const notice = { kind: KINDS.administration, action, resource, payload };
  // The first one is named by the erasure.
  return {
    kind: ERASURE_KIND,
    id,
    version,
    content,
    notice,
    ...(version === 1 && { noticeId: erasure.noticeId }),
  };
}

export interface ErasureNotice {
  readonly action: string;
  readonly act: 'ErasureRequested' | 'ErasureConfirmed' | 'ErasureHeld' | 'ErasureCompleted';
  readonly requestId: string;
  readonly count?: number;
}

export function contentOfPending(pending: PendingRedaction): RecordContent {
  const { operationId: _, tenantId: __, version: ___, ...content } = pending;
  return content;
}

/** Of a genuine record. */
export function pendingIn({ owner, id, version, body }: StoredRecord): PendingRedaction {
  const read = parseJson(body) as Omit<PendingRedaction, 'operationId' | 'tenantId' | 'version'>;
  return { ...read, operationId: id, tenantId: owner, version };
}

/** With counts for a reader from whom nothing is withheld: to others they would tell of events that these do not see. */
export function showErasure(erasure: ErasureRecord, reader: Pick<Call, 'caller' | 'tenantRecord'>): Erasure {
  const { erasureId, state, requested, counts, noticeId, correlationId, completedAtMs, failureReason } =
    erasure;
  return {
    erasureId,
    status: state,
    requestedAt: instant(requested.atMs),
    requestedBy: requested.name,
    ...(completedAtMs !== undefined && { completedAt: instant(completedAtMs) }),
    ...(seesEverything(reader) && {
      ...(counts !== undefined && { matchedEvents: counts.matched }),
      erasedEvents: counts?.erased ?? 0,
      ...(counts !== undefined && { heldEvents: counts.held }),
    }),
    noticeId,
    correlationId,
    ...(failureReason !== undefined && { failureReason }),
  };
}
