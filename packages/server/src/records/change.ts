// Changes records: all records and their notices in one commit of the owner's log, or none.

import { AuditError, type EventId, isUuid, type TenantId } from '@tallystick/contract';
import type { NoticeFacts, NoticeKind } from '@tallystick/evidence';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { AppendRequest, AppendResult, Draft, DraftOutcome, Once } from '../streams/log.ts';
import { draftNotice } from '../streams/append/notice.ts';
import type { CausedJob } from '../work/jobs.ts';
import { commitmentOfRecord, type RecordContent, type RecordMacs } from './record-macs.ts';
import type { ChangeRefusal, RecordKind, RecordOwner, StoredRecord } from './records.ts';

/** The notice of a change; the commitment to the record is added. */
export type ChangeNotice = {
  [K in NoticeKind]: Omit<NoticeFacts<K>, 'correlationId' | 'payload'> & {
    readonly payload: Omit<NoticeFacts<K>['payload'], 'commitment'>;
  };
}[NoticeKind];

/** One record that is made, or takes the place of the version before it. */
export interface RecordWrite {
  readonly kind: RecordKind;
  readonly id: string;
  /** 1 for a new one, else one more than that of the record that was read. */
  readonly version: number;
  readonly content: RecordContent;
  readonly notice: ChangeNotice;
  /** For a record that names its notice; undefined: it gets a new one. */
  readonly noticeId?: EventId | undefined;
}

export interface ChangeRequest {
  readonly owner: RecordOwner;
  readonly writes: readonly RecordWrite[];
  readonly correlationId: string;
  /** Used up in the same commit. */
  readonly once?: Once | undefined;
  /** Jobs that the change causes, stored in the same commit. */
  readonly jobs?: readonly CausedJob[] | undefined;
  /** Notices behind those of the changes, in the same commit. */
  readonly drafts?: readonly Draft[] | undefined;
  /** As in AppendRequest, for drafts that remove content. */
  readonly holdsAsOf?: string | undefined;
}

export type ChangeResult =
  | {
      readonly status: 'Done';
      readonly records: readonly StoredRecord[];
      /** Of all notices: first those of the changes. */
      readonly outcomes?: readonly DraftOutcome[];
    }
  | Extract<AppendResult, { status: 'Repeated' | 'KeyReused' }>
  | ChangeRefusal;

/** Resolves when it is durable, or refused. */
export type ChangeRecords = (request: ChangeRequest) => Promise<ChangeResult>;

export interface ChangeParts {
  readonly append: (request: AppendRequest) => Promise<AppendResult | ChangeRefusal>;
  /** Makes the owner's tenant if it is missing: without it there is no log to write to. */
  readonly ensureOwner: (owner: RecordOwner) => Promise<unknown>;
  readonly macs: Pick<RecordMacs, 'make'>;
  /** Called when a change is done, or may be: records that were read before may be stale. */
  readonly onChanged: () => void;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly nextId: () => string;
}

export function createChange(parts: ChangeParts): ChangeRecords {
  const { append, ensureOwner, macs, onChanged, clock, random, nextId } = parts;
  return async ({ owner, writes, correlationId, once, jobs = [], drafts: more = [], holdsAsOf }) => {
    await ensureOwner(owner);
    const records = writes.map(({ kind, id, version, content }) =>
      macs.make({ owner, kind, id, version, content }, random),
    );
    const drafts = writes.map(({ notice, noticeId: eventId = nextId() }, i) => {
      const facts = {
        ...notice,
        payload: { ...notice.payload, commitment: commitmentOfRecord(records[i]!) },
        correlationId: isUuid(correlationId) ? correlationId : random.uuid(),
      };
      return draftNotice(facts as NoticeFacts<NoticeKind>, { eventId, nowMs: clock.now() });
    });
    try {
      const tenant = owner as TenantId;
      const request = { tenant, drafts: [...drafts, ...more], records, jobs, atomic: true, once };
      const result = await append({ ...request, ...(holdsAsOf !== undefined && { holdsAsOf }) });
      return result.status === 'Done' ? { ...result, records } : result;
    } finally {
      onChanged();
    }
  };
}

/** The stored records, or the refusal; throws SERVICE_UNAVAILABLE if another process is answering the same request. */
export function recordsOf(result: ChangeResult): readonly StoredRecord[] | ChangeRefusal {
  if (result.status === 'Done') return result.records;
  if (result.status === 'Stale' || result.status === 'NameTaken') return result;
  // A repeat gets the answer to the first request.
  throw new AuditError('SERVICE_UNAVAILABLE', 'The same request is being answered elsewhere; ask again.');
}
