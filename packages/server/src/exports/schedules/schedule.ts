// A schedule as the service keeps it: a record of its tenant. Each run is a version of it, in one commit with the export that it asks for, so
// the files of a schedule are numbered without a gap, and none is asked for twice.

import type {
  ExportCriteria,
  ExportFormat,
  ExportId,
  ScheduleId,
  SchedulePeriod,
  ShownDestination,
  TenantId,
} from '@tallystick/contract';
import { type ContentPath, parseJson } from '@tallystick/evidence';
import type { RecordContent } from '../../records/record-macs.ts';
import type { StoredRecord } from '../../records/records.ts';
import type { CausedJob } from '../../work/jobs.ts';
import type { ExportReader } from '../export.ts';

export const SCHEDULE_KIND = 'ExportSchedule';
export const SCHEDULE_WORK = 'ScheduledExport';

export type ScheduleState = 'Active' | 'Paused' | 'Deleted';

export interface ScheduleRecord {
  readonly scheduleId: ScheduleId;
  readonly tenantId: TenantId;
  readonly version: number;
  readonly state: ScheduleState;
  /** Its name, while it is not deleted. */
  readonly uniqueName: string | undefined;
  readonly every: SchedulePeriod;
  readonly criteria: ExportCriteria;
  readonly format: ExportFormat;
  readonly contentColumns: readonly ContentPath[];
  /** Without secrets. */
  readonly destination: ShownDestination;
  /** The destination with its secrets, in a box. Empty once it is deleted. */
  readonly box: string;
  /** Where the first file begins, in the tenant's sequence. */
  readonly fromIndex: number;
  /** By whose rights events are read: those that its creator had then. */
  readonly reader: ExportReader;
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly updatedAtMs: number;
  readonly nextRunAtMs: number;
  /** Of the next run. */
  readonly jobId: string;
  readonly last: LastRun | undefined;
}

export interface LastRun {
  readonly number: number;
  readonly exportId: ExportId;
}

export function contentOfSchedule(record: ScheduleRecord): RecordContent {
  const { scheduleId: _, tenantId: __, version: ___, ...content } = record;
  return content;
}

/** Of a genuine record. */
export function scheduleIn({ owner, id, version, body }: StoredRecord): ScheduleRecord {
  // Written by `contentOfSchedule`.
  const content = parseJson(body) as Omit<ScheduleRecord, 'scheduleId' | 'tenantId' | 'version'>;
  const { uniqueName, last } = content;
  return { ...content, uniqueName, last, scheduleId: id, tenantId: owner, version };
}

/** How long a job waits at most before it looks at the time: its wait may begin late, and clocks are set. */
export const LOOK_AGAIN_MS = 600_000;

/** The job of its next run; its lane is the schedule. */
export function runJob(
  { scheduleId, jobId, nextRunAtMs }: Pick<ScheduleRecord, 'scheduleId' | 'jobId' | 'nextRunAtMs'>,
  nowMs: number,
): CausedJob {
  const body = JSON.stringify({ scheduleId });
  const dueInMs = Math.min(Math.max(0, nextRunAtMs - nowMs), LOOK_AGAIN_MS);
  return { jobId, kind: SCHEDULE_WORK, lane: scheduleId, dueInMs, body };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** In UTC: the next full hour, midnight, or midnight before the first of a month. */
export function nextRunAfter(every: SchedulePeriod, nowMs: number): number {
  if (every === 'Hour') return (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS;
  if (every === 'Day') return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
}
