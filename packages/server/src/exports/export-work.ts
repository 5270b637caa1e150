// The job of an export: it makes the file and puts the result into the record, with a notice that has the checksum in its commitment.
// One that is deleted meanwhile stops within a second. One that fails is a dead letter as well: to reprocess it is to retry it.

import { type ExportId, LIMITS } from '@tallystick/contract';
import { ClosedBox } from '../keys/secret-box.ts';
import type { ChangeRecords } from '../records/change.ts';
import type { Job, JobOutcome } from '../work/jobs.ts';
import { attemptsHere, Reach } from '../work/reach.ts';
import type { Holding, KindOfWork } from '../work/workers.ts';
import { putExport } from './export-changes.ts';
import { jobsOfDeliveries } from './export-delivery.ts';
import { ExportFailure } from './export-failure.ts';
import type { ExportKeys } from './export-keys.ts';
import { type ExportRecord, type Failure, retried } from './export.ts';
import type { Exports } from './exports.ts';
import { type MadeFile, makeExport, type MakingParts } from './making.ts';

export interface ExportWorkParts extends MakingParts {
  readonly clock: MakingParts['clock'];
  readonly exports: Pick<Exports, 'find'>;
  readonly keys: Pick<ExportKeys, 'open'>;
  readonly change: ChangeRecords;
  readonly uuid: () => string;
  /** How it has ended. */
  readonly onEnd: (record: ExportRecord) => Promise<void>;
}

export const EXPORT_WORK = 'Export';

/** It is not wanted any more. */
class Unwanted extends Error {}

/** In this process: one tenant that has as many as it may leaves room for others. */
const AT_ONCE = 2 * LIMITS.exportsRunningMax;
const ATTEMPTS_MAX = 5;
/** Of the work, which is 1. */
const STEP = 0.01;
/** A full disk seldom has room a moment later. */
const DISK_ATTEMPTS_MAX = 3;
const LOOK_EVERY_NS = 500e6;

export function exportWork(parts: ExportWorkParts): KindOfWork {
  return {
    kind: EXPORT_WORK,
    atOnce: AT_ONCE,
    perLane: 1,
    limits: () => ({ perTenant: LIMITS.exportsRunningMax }),
    attemptsMax: ATTEMPTS_MAX,
    attemptsOf: attemptsHere,
    handle: (job, holding) => handle(job, holding, parts),
    outOfAttempts: (job) => giveUp(job, parts),
  };
}

async function handle(job: Job, holding: Holding, parts: ExportWorkParts): Promise<JobOutcome> {
  const exportId = job.lane;
  const found = await parts.exports.find(job.tenant, exportId);
  const isOfJob = found?.jobId === job.jobId;
  // To reprocess the dead letter is to retry the export.
  const record = isOfJob && found.state === 'Failed' && job.isLetter ? await revived(found, parts) : found;
  if (record?.state !== 'Pending' || !isOfJob) return endedBefore(record, isOfJob, exportId, parts);
  const startedAtMs = job.startedAtMs ?? parts.clock.now();
  try {
    const made = await make(record, job, holding, parts);
    const completed = completedOf(made, startedAtMs, parts);
    await end({ ...record, state: 'Completed', completed, schedule: madeOf(record, made) }, parts);
    return { status: 'Done' };
  } catch (error) {
    if (error instanceof Unwanted) {
      await cleanUp(exportId, parts);
      return { status: 'Done' };
    }
    const failure = holding.signal.aborted ? undefined : failureOf(error, job, startedAtMs, parts);
    if (failure === undefined) throw error;
    const told = { tenant: job.tenant, exportId, reason: failure.reason, cause: String(error) };
    parts.telemetry.warn('an export has failed', told);
    await cleanUp(exportId, parts);
    await end({ ...record, state: 'Failed', failed: failure }, parts);
    return outcomeOf(failure);
  }
}

/** Its holders have ended, or could not even begin: nobody else would tell that it has failed. */
async function giveUp(job: Job, parts: ExportWorkParts): Promise<JobOutcome> {
  const exportId = job.lane;
  const record = await parts.exports.find(job.tenant, exportId);
  const isOfJob = record?.jobId === job.jobId;
  if (record?.state !== 'Pending' || !isOfJob) return endedBefore(record, isOfJob, exportId, parts);
  const atMs = parts.clock.now();
  const failed: Failure = {
    startedAtMs: job.startedAtMs ?? atMs,
    atMs,
    reason: 'Internal',
    details: 'It was begun several times and did not end; the diagnostics of the service say why.',
    isRetriable: true,
  };
  await cleanUp(exportId, parts);
  try {
    await end({ ...record, state: 'Failed', failed }, parts);
  } catch (error) {
    // It was deleted.
    if (error instanceof Unwanted) return { status: 'Done' };
    throw error;
  }
  return outcomeOf(failed);
}

/** A crash came between the end of the export and that of its job; or it was deleted, or retried by another job. */
async function endedBefore(
  record: ExportRecord | undefined,
  isOfJob: boolean,
  exportId: ExportId,
  parts: ExportWorkParts,
): Promise<JobOutcome> {
  if (!isOfJob || record === undefined || record.state === 'Deleted') {
    if (record?.state === 'Deleted') await cleanUp(exportId, parts);
    return { status: 'Done' };
  }
  await parts.onEnd(record);
  return record.failed === undefined ? { status: 'Done' } : outcomeOf(record.failed);
}

function outcomeOf({ isRetriable, reason, details }: Failure): JobOutcome {
  return isRetriable ? { status: 'Dead', reason: `${reason}: ${details}` } : { status: 'Done' };
}

async function revived(record: ExportRecord, parts: ExportWorkParts): Promise<ExportRecord> {
  const tenant = await parts.tenants.find(record.tenantId);
  if (tenant === undefined) throw new Error(`there is no tenant ${record.tenantId}`);
  const next = { ...retried(record, tenant, parts.nextId()), version: record.version + 1 };
  const told = { requestId: parts.nextId(), correlationId: parts.uuid() };
  if (await putExport({ record: next, act: 'Retried', ...told }, parts.change)) return next;
  throw new Error(`the export ${record.exportId} is being changed`);
}

async function make(
  record: ExportRecord,
  job: Job,
  { signal, progress }: Holding,
  parts: ExportWorkParts,
): Promise<MadeFile> {
  const { tenantId, exportId, version } = record;
  const reach = new Reach(job, STEP);
  let lookedNs = parts.clock.monotonicNs();
  const requireWanted = async () => {
    if (parts.clock.monotonicNs() - lookedNs < LOOK_EVERY_NS) return;
    lookedNs = parts.clock.monotonicNs();
    if ((await parts.exports.find(tenantId, exportId))?.version !== version) throw new Unwanted();
  };
  return makeExport(
    record,
    {
      key: await parts.keys.open(record),
      signal,
      async onProgress(seen) {
        progress(JSON.stringify({ ...seen, ...reach.at(seen.share) }));
        await requireWanted();
      },
      requireWanted,
    },
    parts,
  );
}

/** Where the next file of the schedule continues. */
function madeOf({ schedule }: ExportRecord, { manifest, endIndex }: MadeFile): ExportRecord['schedule'] {
  return schedule && { ...schedule, made: { manifest: manifest!, endIndex } };
}

function completedOf(
  { runId, eventCount, fileSize, checksum }: MadeFile,
  startedAtMs: number,
  { clock }: ExportWorkParts,
): ExportRecord['completed'] {
  const atMs = clock.now();
  const expiresAtMs = atMs + LIMITS.exportFileLifetimeMs;
  return { startedAtMs, atMs, eventCount, fileSize, checksum, runId, expiresAtMs };
}

async function end(record: ExportRecord, parts: ExportWorkParts): Promise<void> {
  const { nextId, uuid, change, onEnd } = parts;
  const next = { ...record, version: record.version + 1 };
  const act = record.state === 'Completed' ? 'Completed' : 'Failed';
  const told = { requestId: nextId(), correlationId: uuid() };
  const jobs = act === 'Completed' ? jobsOfDeliveries(next) : [];
  if (!(await putExport({ record: next, act, ...told, jobs }, change))) throw new Unwanted();
  if (next.completed !== undefined) await cleanUp(next.exportId, parts, next.completed.runId);
  await onEnd(next);
}

/** What cannot be removed now is swept away later. */
async function cleanUp(
  exportId: ExportId,
  { files, telemetry }: ExportWorkParts,
  keptRunId?: string,
): Promise<void> {
  try {
    await files.clean(exportId, keptRunId);
  } catch (error) {
    telemetry.warn('files of an export could not be removed', { exportId, cause: String(error) });
  }
}

const FULL: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** Undefined: it is tried again. */
function failureOf(
  error: unknown,
  job: Job,
  startedAtMs: number,
  { clock }: ExportWorkParts,
): Failure | undefined {
  const made = (reason: Failure['reason'], details: string, isRetriable: boolean): Failure => ({
    startedAtMs,
    atMs: clock.now(),
    reason,
    details,
    isRetriable,
  });
  if (error instanceof ExportFailure) return made(error.reason, error.message, error.isRetriable);
  if (error instanceof ClosedBox)
    return made('Internal', 'The key of its file does not open with the keyring.', false);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const isOfDisk = error instanceof Error && 'syscall' in error;
  if (attemptsHere(job) < (isOfDisk ? DISK_ATTEMPTS_MAX : ATTEMPTS_MAX)) return undefined;
  if (FULL.includes(code)) return made('StorageFull', 'The disk with the files of exports is full.', true);
  if (isOfDisk && typeof code === 'string')
    return made('StorageError', `The file could not be written: ${code}.`, true);
  return made('Internal', 'It failed several times; the diagnostics of the service say why.', true);
}
