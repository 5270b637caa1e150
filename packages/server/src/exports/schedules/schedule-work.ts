// The job of a schedule: at its time it asks for the next file. The version of the schedule that names the run, the export and the job of the
// run after it are one commit. While a file is still being made the next one waits, since it names the manifest of that; one that has
// failed is made again, under its number, with what has come since. So no number is left out, and none has two files.

import { LIMITS } from '@tallystick/contract';
import type { TenantRecord, Tenants } from '../../access/tenants.ts';
import type { ChangeRecords } from '../../records/change.ts';
import type { Clock } from '../../runtime/clock.ts';
import { ulidTimeMs } from '../../runtime/ids.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { Job, JobOutcome } from '../../work/jobs.ts';
import type { KindOfWork } from '../../work/workers.ts';
import type { Destinations } from '../destinations.ts';
import { makingJob, writeOfExport } from '../export-changes.ts';
import type { ExportKeys } from '../export-keys.ts';
import { type ExportRecord, retried, type ScheduledRun, snapshotOf } from '../export.ts';
import type { Exports } from '../exports.ts';
import { putSchedule } from './schedule-changes.ts';
import { LOOK_AGAIN_MS, nextRunAfter, runJob, SCHEDULE_WORK, type ScheduleRecord } from './schedule.ts';
import type { Schedules } from './schedules.ts';

export interface ScheduleWorkParts {
  readonly schedules: Pick<Schedules, 'find'>;
  readonly exports: Pick<Exports, 'find' | 'countInState'>;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly destinations: Pick<Destinations, 'make' | 'openSealed'>;
  readonly keys: Pick<ExportKeys, 'make'>;
  readonly change: ChangeRecords;
  readonly clock: Pick<Clock, 'now'>;
  readonly nextId: () => string;
  readonly uuid: () => string;
  readonly telemetry: Pick<Telemetry, 'info'>;
  /** There is something to export. */
  readonly wakeExports: () => void;
}

const OPEN_MAX = LIMITS.exportsRunningMax + LIMITS.exportsWaitingMax;
/** Until there is room, or the file before is made. */
const LATER_MS = 60_000;

export function scheduleWork(parts: ScheduleWorkParts): KindOfWork {
  return {
    kind: SCHEDULE_WORK,
    atOnce: 2,
    perLane: 1,
    // Nobody would look for a dead letter of it: it is tried again until it can be done.
    attemptsMax: Infinity,
    handle: (job) => handle(job, parts),
  };
}

async function handle({ tenant, lane, jobId }: Job, parts: ScheduleWorkParts): Promise<JobOutcome> {
  const { schedules, exports, tenants, clock } = parts;
  const schedule = await schedules.find(tenant, lane);
  // It was changed, or a crash came behind the commit.
  if (schedule?.state !== 'Active' || schedule.jobId !== jobId) return { status: 'Done' };
  const earlyMs = schedule.nextRunAtMs - clock.now();
  if (earlyMs > 0) return { status: 'PutOff', forMs: Math.min(earlyMs, LOOK_AGAIN_MS) };
  const last = schedule.last && (await exports.find(tenant, schedule.last.exportId));
  const isFull = (await exports.countInState(tenant, 'Pending')) >= OPEN_MAX;
  if (last?.state === 'Pending' || isFull) return { status: 'PutOff', forMs: LATER_MS };
  const tenantRecord = await tenants.find(tenant);
  if (tenantRecord === undefined || tenantRecord.status !== 'Active')
    return { status: 'PutOff', forMs: LOOK_AGAIN_MS };
  await run(schedule, await nextExport(schedule, last, tenantRecord, parts), parts);
  return { status: 'Done' };
}

/** What the next file is: another one, or the one that has failed. */
async function nextExport(
  schedule: ScheduleRecord,
  last: ExportRecord | undefined,
  tenant: TenantRecord,
  parts: ScheduleWorkParts,
): Promise<ExportRecord> {
  const { nextId, keys } = parts;
  const { tenantId } = schedule;
  if (last?.state === 'Failed') {
    const deliveries = await deliveriesOf(schedule, last.exportId, parts);
    const again = { ...retried(last, tenant, nextId()), jobId: nextId(), version: last.version + 1 };
    return { ...again, destination: schedule.destination, deliveries };
  }
  const exportId = nextId();
  const { criteria, format, contentColumns, reader, createdBy } = schedule;
  const requestedAtMs = ulidTimeMs(exportId);
  return {
    exportId,
    tenantId,
    version: 1,
    state: 'Pending',
    name: schedule.uniqueName,
    criteria,
    format,
    contentColumns,
    compression: 'Zip',
    includeProofs: true,
    destination: schedule.destination,
    requestedAtMs,
    requestedBy: createdBy,
    reader,
    snapshot: snapshotOf(tenant, nextId()),
    jobId: nextId(),
    fileKey: await keys.make({ tenantId, exportId }),
    schedule: placeOf(schedule, last),
    completed: undefined,
    failed: undefined,
    deliveries: await deliveriesOf(schedule, exportId, parts),
  };
}

function placeOf({ scheduleId, fromIndex }: ScheduleRecord, last: ExportRecord | undefined): ScheduledRun {
  const before = last?.schedule;
  if (before === undefined) return { scheduleId, number: 1, previous: null, fromIndex };
  const { number, previous, made } = before;
  // One that was deleted before it was made leaves its number.
  if (made === undefined) return { scheduleId, number, previous, fromIndex: before.fromIndex };
  return { scheduleId, number: number + 1, previous: made.manifest, fromIndex: made.endIndex };
}

async function deliveriesOf(schedule: ScheduleRecord, exportId: string, parts: ScheduleWorkParts) {
  const { destinations, nextId, clock } = parts;
  const { tenantId, createdBy: requestedBy } = schedule;
  const destination = await destinations.openSealed(schedule, schedule.box);
  const wanted = { deliveryId: nextId(), destination, requestedBy, requestedAtMs: clock.now() };
  return [await destinations.make({ tenantId, exportId }, wanted)];
}

async function run(schedule: ScheduleRecord, made: ExportRecord, parts: ScheduleWorkParts): Promise<void> {
  const { nextId, uuid, change, clock, telemetry, wakeExports } = parts;
  const { exportId } = made;
  const { tenantId: tenant, scheduleId, every, version } = schedule;
  const { number } = made.schedule!;
  telemetry.info('a schedule asks for an export', { tenant, scheduleId, number, exportId });
  const nowMs = clock.now();
  const record: ScheduleRecord = {
    ...schedule,
    version: version + 1,
    last: { number, exportId },
    nextRunAtMs: nextRunAfter(every, nowMs),
    jobId: nextId(),
  };
  const told = { requestId: nextId(), correlationId: uuid() };
  const others = [
    writeOfExport({ record: made, act: made.version === 1 ? 'Requested' : 'Retried', ...told }),
  ];
  const jobs = [makingJob(made), runJob(record, nowMs)];
  if (!(await putSchedule({ record, act: 'Run', ...told, jobs, others }, change)))
    throw new Error(`the schedule ${scheduleId}, or its export ${exportId}, is being changed`);
  wakeExports();
}
