// An export as callers see it: its record, with what its job knows while it runs, and a link once the file is there.

import { type Export, type ExportDelivery, type ExportReceipt, LIMITS } from '@tallystick/contract';
import { columnName, parseJson } from '@tallystick/evidence';
import { isAtLeast } from '../access/roles.ts';
import type { Call } from '../call.ts';
import { instant } from '../runtime/clock.ts';
import type { Job, WorkStore } from '../work/jobs.ts';
import { showDelivery } from './export-delivery.ts';
import { type ExportKeys, signLink } from './export-keys.ts';
import type { ExportFiles } from './export-files.ts';
import { type ExportRecord, isKept, type ShownState } from './export.ts';
import type { MakingProgress } from './making-progress.ts';

export interface ExportViewParts {
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly keys: Pick<ExportKeys, 'open'>;
  readonly files: Pick<ExportFiles, 'has'>;
  readonly clock: { now(): number };
  /** Where callers reach a version of the interface that answers, without a slash at the end. */
  readonly apiUrl: () => string;
}

/** Undefined once it is over. */
export async function jobOf(
  { state, tenantId, jobId }: ExportRecord,
  { work }: Pick<ExportViewParts, 'work'>,
): Promise<Job | undefined> {
  return state === 'Pending' ? work.forTenant(tenantId).find(jobId) : undefined;
}

export function shownState({ state }: ExportRecord, job: Job | undefined): ShownState {
  if (state === 'Pending') return job?.startedAtMs === undefined ? 'Pending' : 'Processing';
  return state === 'Completed' ? 'Completed' : 'Failed';
}

/** To callers who see less than its requester did, what is in the file is not told, and neither is how much. */
export async function showExport(
  call: Pick<Call, 'caller'>,
  record: ExportRecord,
  parts: ExportViewParts,
): Promise<Export> {
  const { exportId, tenantId, name, criteria, format, compression, includeProofs, destination } = record;
  const { completed, failed, contentColumns, schedule } = record;
  const job = await jobOf(record, parts);
  const progress = progressOf(record, job);
  const isSeen = isAtLeast(call.caller!.clearance, record.reader.clearance);
  const startedAtMs = job?.startedAtMs ?? completed?.startedAtMs ?? failed?.startedAtMs;
  const endedAtMs = completed?.atMs ?? failed?.atMs;
  return {
    exportId,
    tenantId,
    ...(name !== undefined && { name }),
    status: shownState(record, job),
    progress: isSeen ? progress : { percent: progress.percent, processedEvents: 0 },
    criteria,
    format,
    compression,
    ...(contentColumns.length > 0 && { contentColumns: contentColumns.map(columnName) }),
    includeProofs,
    destination,
    ...(schedule && { schedule: { scheduleId: schedule.scheduleId, number: schedule.number } }),
    requestedAt: instant(record.requestedAtMs),
    requestedBy: record.requestedBy,
    ...(startedAtMs !== undefined && { startedAt: instant(Math.max(startedAtMs, record.requestedAtMs)) }),
    ...(endedAtMs !== undefined && { completedAt: instant(endedAtMs) }),
    ...(completed !== undefined &&
      isSeen && {
        eventCount: completed.eventCount,
        fileSize: completed.fileSize,
        checksum: `sha256:${completed.checksum}`,
      }),
    ...(isSeen ? await linkOf(record, parts) : {}),
    ...(failed !== undefined && {
      failureReason: failed.reason,
      errorDetails: failed.details,
      retriable: failed.isRetriable,
    }),
    deliveries: await deliveriesOf(record, isSeen, parts),
  };
}

async function deliveriesOf(
  record: ExportRecord,
  isSeen: boolean,
  { work }: Pick<ExportViewParts, 'work'>,
): Promise<ExportDelivery[]> {
  const jobs = work.forTenant(record.tenantId);
  const shown = record.deliveries.map(async (each) => {
    const isOpen = each.ended === undefined && record.state === 'Completed';
    const delivery = showDelivery(record, each, isOpen ? await jobs.find(each.deliveryId) : undefined);
    return isSeen ? delivery : { ...delivery, bytesTransferred: 0 };
  });
  return Promise.all(shown);
}

export function receiptOf({ exportId, requestedAtMs }: ExportRecord): ExportReceipt {
  return {
    exportId,
    status: 'Pending',
    progress: { percent: 0, processedEvents: 0 },
    requestedAt: instant(requestedAtMs),
  };
}

function progressOf({ completed }: ExportRecord, job: Job | undefined): Export['progress'] {
  if (completed !== undefined) {
    const { eventCount } = completed;
    return { percent: 100, processedEvents: eventCount, totalEvents: eventCount };
  }
  if (job?.progress === undefined) return { percent: 0, processedEvents: 0 };
  const { percent, processedEvents, totalEvents, ...pace } = parseJson(job.progress) as MakingProgress;
  const { eventsPerSecond, estimatedAtMs } = pace;
  return {
    percent,
    processedEvents,
    ...(totalEvents !== undefined && { totalEvents }),
    ...(eventsPerSecond !== undefined && { eventsPerSecond }),
    ...(estimatedAtMs !== undefined && { estimatedCompletionAt: instant(estimatedAtMs) }),
  };
}

/** It may be removed before its time: remove-files.ts. */
export async function hasFile(
  record: ExportRecord,
  files: Pick<ExportFiles, 'has'>,
  nowMs: number,
): Promise<boolean> {
  const { exportId, completed } = record;
  return isKept(record, nowMs) && (await files.has({ exportId, runId: completed!.runId }));
}

/** Signed anew each time. It never outlives the file. */
export async function linkOf(
  record: ExportRecord,
  { keys, clock, apiUrl, files }: Pick<ExportViewParts, 'keys' | 'clock' | 'apiUrl' | 'files'>,
): Promise<Pick<Export, 'downloadUrl' | 'expiresAt'>> {
  const nowMs = clock.now();
  if (!(await hasFile(record, files, nowMs))) return {};
  const { tenantId, exportId, completed } = record;
  const { runId, expiresAtMs } = completed!;
  const expires = Math.floor(Math.min(expiresAtMs, nowMs + LIMITS.downloadLinkLifetimeMs) / 1000);
  const signature = signLink({ tenantId, exportId, runId, expires }, await keys.open(record));
  const query = new URLSearchParams({ tenant: tenantId, expires: String(expires), signature });
  return {
    downloadUrl: `${apiUrl()}/exports/${exportId}/download?${query.toString()}`,
    expiresAt: instant(expires * 1000),
  };
}
