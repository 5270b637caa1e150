// Erasures of a person, or of the whole tenant: the request is a record and a notice in the log, and its job does the work. Nothing
// that stays names the person. Where the tenant wants four eyes, the job waits for a second caller.

import {
  type Answer,
  AuditError,
  ERRORS,
  type ErasureRequest,
  type ErasureSubject,
  type ErrorDetail,
  type InputOf,
  isUuid,
  LIMITS,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { TenantRecord, Tenants } from '../access/tenants.ts';
import type { Tenancy } from '../access/tenancy.ts';
import { type Call, type OwnViolation, type Received, receivedMember } from '../call.ts';
import type { GenuineRecords } from '../records/genuine-records.ts';
import { recordsOf } from '../records/change.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import type { Random } from '../runtime/random.ts';
import { idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import type { TenantKeyStore } from '../streams/removal/tenant-keys.ts';
import { type ErasureRecord, erasureWrite, hashOfJob, showErasure } from './erasure.ts';
import type { ErasureBody } from './erasure-work.ts';
import { faultsOfFields } from './named-units.ts';
import type { RedactParts } from './redact.ts';
import { hashesOf } from './subject.ts';

export interface EraseParts
  extends Pick<RedactParts, 'change' | 'clock' | 'steadyNowMs' | 'nextId' | 'uuid' | 'telemetry'> {
  readonly erasures: GenuineRecords<ErasureRecord>;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly tenants: Pick<Tenants, 'withNewFingerprints'>;
  readonly keys: Pick<TenantKeyStore, 'close'>;
  readonly random: Pick<Random, 'bytes'>;
  /** There is something to do. */
  readonly wake: () => void;
}

export function createErase(parts: EraseParts) {
  return {
    'erasures.create': {
      perform: (call: Call, { erasure }: InputOf<'erasures.create'>) => request(call, erasure, parts),
      rules: ({ erasure }: Received['input']): OwnViolation[] =>
        [...faultsOfScope(erasure), ...faultsOfFields(receivedMember(erasure, 'fields'))].map((detail) => ({
          member: 'erasure',
          detail,
        })),
      answerAgain: (_: Call, __: Received, { note }: UsedIdempotencyKey) =>
        ({ kind: 'Repeated', ...answered(parseJson(note) as Answer<'erasures.create'>['body']) }) as const,
    },
    async 'erasures.get'(
      call: Call,
      { erasureId }: InputOf<'erasures.get'>,
    ): Promise<Answer<'erasures.get'>> {
      const erasure = await parts.erasures.find(call.tenant!, erasureId);
      if (erasure === undefined)
        throw new AuditError('OPERATION_NOT_FOUND', ERRORS.OPERATION_NOT_FOUND.meaning);
      return { kind: 'Done', body: showErasure(erasure, call) };
    },
  };
}

async function request(
  call: Call,
  wanted: ErasureRequest,
  parts: EraseParts,
): Promise<Answer<'erasures.create'>> {
  const { subject, reason } = wanted;
  const known = call.tenantRecord ?? (await parts.tenancy.provide(call.tenant!));
  const nowMs = idempotencyNowMs(parts);
  const body: ErasureBody =
    subject === undefined
      ? { ofAll: { keysBeforeMs: nowMs + LIMITS.idempotencyWindowMs } }
      : { subject: hashesOf(subject, parts.random) };
  const job = JSON.stringify(body);
  const erasure = newErasure(call, known, wanted, job, parts);
  const { requestId } = call.correlation;
  const { erasureId, requested } = erasure;
  const told = { tenant: known.tenantId, erasureId, reason, requestId, caller: requested.name };
  parts.telemetry.info('an erasure is asked for', told);
  // So that all that comes behind the notice is under other keys.
  if (subject === undefined) await parts.keys.close(known.tenantId);
  const isUnderNewKey = subject === undefined && !known.fourEyes;
  const tenant = isUnderNewKey ? await parts.tenants.withNewFingerprints(known) : known;
  const asked = { erasure, tenant, job, nowMs };
  const accepted =
    (await commit(call, asked, parts)) ??
    (await commit(call, { ...asked, erasure: { ...erasure, correlationId: parts.uuid() } }, parts));
  if (accepted === undefined) throw new Error('a new UUID is that of another erasure');
  parts.wake();
  return { kind: 'Accepted', ...answered(accepted) };
}

/** What is committed of a request. */
interface Requested {
  readonly erasure: ErasureRecord;
  readonly tenant: TenantRecord;
  /** The body of its job. */
  readonly job: string;
  readonly nowMs: number;
}

/** Undefined, and nothing is done, where another erasure has its correlation id: by that, its notices are counted. */
async function commit(call: Call, requested: Requested, parts: Pick<EraseParts, 'change'>) {
  const { erasure, tenant, job, nowMs } = requested;
  const { erasureId, correlationId, state } = erasure;
  const body =
    state === 'AwaitingConfirmation'
      ? ({ operationId: erasureId as string, status: state } as const)
      : showErasure(erasure, call);
  const { requestId } = call.correlation;
  const result = recordsOf(
    await parts.change({
      owner: erasure.tenantId,
      writes: [erasureWrite(erasure, { action: 'Request.Erasure', act: 'ErasureRequested', requestId })],
      correlationId,
      once: onceOf(call, tenant, nowMs, UNCLASSIFIED, JSON.stringify(body)),
      jobs: [{ jobId: erasureId, kind: 'Erasure', body: job }],
    }),
  );
  if (!('status' in result)) return body;
  if (result.status === 'NameTaken') return undefined;
  throw new Error(`a new erasure was answered ${result.status}`);
}

/** An erasure that waits for another caller is found under the id of its operation. */
function answered(body: Answer<'erasures.create'>['body']) {
  return 'operationId' in body ? { body, facts: { erasureId: body.operationId } } : { body };
}

function newErasure(
  { caller, correlation: { correlationId } }: Call,
  { tenantId, fourEyes }: TenantRecord,
  { subject, fields }: ErasureRequest,
  job: string,
  { clock, nextId, uuid }: Pick<EraseParts, 'clock' | 'nextId' | 'uuid'>,
): ErasureRecord {
  const { name, identity } = caller!;
  return {
    erasureId: nextId(),
    tenantId,
    version: 1,
    state: fourEyes ? 'AwaitingConfirmation' : 'Pending',
    requested: { name, identity, atMs: clock.now() },
    confirmed: undefined,
    noticeId: nextId(),
    correlationId: isUuid(correlationId) ? correlationId : uuid(),
    isOfAll: subject === undefined,
    jobHash: hashOfJob(job),
    fields,
    counts: undefined,
    completedAtMs: undefined,
    failureReason: undefined,
  };
}

/** What no schema says of whom it is about; null is as good as absent. */
function faultsOfScope(erasure: unknown): ErrorDetail[] {
  const [subject, tenantId, fields] = ['subject', 'tenantId', 'fields'].map(
    (name) => receivedMember(erasure, name) ?? undefined,
  );
  if (tenantId === undefined)
    return subject === undefined
      ? [{ field: 'subject', issue: 'must be given, or tenantId for the whole tenant' }]
      : faultsOfSubject(subject);
  return [
    ...(subject === undefined
      ? []
      : [
          {
            field: 'tenantId',
            issue: 'must not be given together with subject: it is for all content',
          },
        ]),
    ...(fields === undefined
      ? []
      : [{ field: 'fields', issue: 'must not be given together with tenantId: all content goes' }]),
  ];
}

/** The schema reports one that is no object. */
function faultsOfSubject(subject: unknown): ErrorDetail[] {
  if (typeof subject !== 'object' || Array.isArray(subject)) return [];
  const has = (name: keyof ErasureSubject) => (receivedMember(subject, name) ?? undefined) !== undefined;
  if (has('resourceType') !== has('resourceId')) {
    const field = has('resourceType') ? 'subject.resourceId' : 'subject.resourceType';
    return [{ field, issue: 'must be given: a resource is named by type and id together' }];
  }
  if (has('userId') || has('userName') || has('resourceId')) return [];
  const issue = 'must have a userId, a userName, or a resourceType and resourceId';
  return [{ field: 'subject', issue }];
}
