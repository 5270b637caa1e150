// Changes of exports: each is one commit of a new version, the notice in the tenant's log that tells of it, the idempotency key of the
// request, and the job that it causes.

import { KINDS } from '@tallystick/evidence';
import { type ChangeRecords, recordsOf, type RecordWrite } from '../records/change.ts';
import type { Once } from '../streams/log.ts';
import type { CausedJob } from '../work/jobs.ts';
import { contentOfExport, EXPORT_KIND, type ExportRecord } from './export.ts';

export type ExportAct =
  | 'Requested'
  | 'Retried'
  | 'Completed'
  | 'Failed'
  | 'Deleted'
  | 'DeliveryRequested'
  | 'DeliveryRetried'
  | 'Delivered'
  | 'DeliveryFailed';

export interface ExportChange {
  readonly record: ExportRecord;
  readonly act: ExportAct;
  readonly requestId: string;
  readonly correlationId: string;
  readonly once?: Once | undefined;
  readonly jobs?: readonly CausedJob[];
}

const ACTIONS: Readonly<Record<ExportAct, string>> = {
  Requested: 'Request.Export',
  Retried: 'Retry.Export',
  Completed: 'Complete.Export',
  Failed: 'Fail.Export',
  Deleted: 'Delete.Export',
  DeliveryRequested: 'RequestDelivery.Export',
  DeliveryRetried: 'RetryDelivery.Export',
  Delivered: 'Deliver.Export',
  DeliveryFailed: 'FailDelivery.Export',
};

/** The job that makes the file; its lane is the export. */
export function makingJob({ exportId, jobId }: Pick<ExportRecord, 'exportId' | 'jobId'>): CausedJob {
  return { jobId, kind: 'Export', lane: exportId, body: JSON.stringify({ exportId }) };
}

export function writeOfExport({
  record,
  act,
  requestId,
}: Pick<ExportChange, 'record' | 'act' | 'requestId'>): RecordWrite {
  const { exportId: id, version, completed, snapshot } = record;
  const payload = { act: `Export${act}`, requestId, subjectIds: [id], count: completed?.eventCount ?? 1 };
  const resource = { resourceType: EXPORT_KIND, resourceId: id };
  const notice = { kind: KINDS.administration, action: ACTIONS[act], resource, payload };
  // The record names the notice behind which nothing belongs to it.
  const noticeId = act === 'Requested' || act === 'Retried' ? snapshot.noticeId : undefined;
  return { kind: EXPORT_KIND, id, version, content: contentOfExport(record), notice, noticeId };
}

/** False if somebody else has changed it meanwhile. */
export async function putExport(
  { correlationId, once, jobs = [], ...told }: ExportChange,
  change: ChangeRecords,
): Promise<boolean> {
  const { exportId: id, tenantId: owner } = told.record;
  const write = writeOfExport(told);
  const result = recordsOf(await change({ owner, writes: [write], correlationId, once, jobs }));
  if (!('status' in result)) return true;
  if (result.status === 'Stale') return false;
  throw new Error(`a change of the export ${id} was answered ${result.status}`);
}
