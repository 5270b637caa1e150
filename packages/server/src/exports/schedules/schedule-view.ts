// A schedule as callers see it: its record, with how its newest file stands.

import { createHash } from 'node:crypto';
import type { Schedule, ScheduleRun } from '@tallystick/contract';
import { columnName } from '@tallystick/evidence';
import { instant } from '../../runtime/clock.ts';
import { type ExportViewParts, jobOf, shownState } from '../export-view.ts';
import type { ExportRecord } from '../export.ts';
import type { Exports } from '../exports.ts';
import type { ScheduleRecord } from './schedule.ts';

export interface ScheduleViewParts extends Pick<ExportViewParts, 'work'> {
  readonly exports: Pick<Exports, 'find'>;
}

export async function showSchedule(record: ScheduleRecord, parts: ScheduleViewParts): Promise<Schedule> {
  const { scheduleId, tenantId, every, criteria, format, contentColumns, destination, last } = record;
  const run = last && (await parts.exports.find(tenantId, last.exportId));
  const isActive = record.state === 'Active';
  return {
    scheduleId,
    tenantId,
    name: record.uniqueName ?? '',
    every,
    criteria,
    format,
    ...(contentColumns.length > 0 && { contentColumns: contentColumns.map(columnName) }),
    destination,
    active: isActive,
    createdAt: instant(record.createdAtMs),
    createdBy: record.createdBy,
    updatedAt: instant(record.updatedAtMs),
    ...(isActive && { nextRunAt: instant(record.nextRunAtMs) }),
    ...(run?.schedule !== undefined && { lastRun: await showRun(run, parts) }),
  };
}

async function showRun(run: ExportRecord, parts: ScheduleViewParts): Promise<ScheduleRun> {
  const { number, fromIndex, made } = run.schedule!;
  return {
    number,
    exportId: run.exportId,
    status: made === undefined ? shownState(run, await jobOf(run, parts)) : 'Completed',
    fromSequence: fromIndex + 1,
    ...(made !== undefined && { toSequence: made.endIndex, manifest: made.manifest }),
  };
}

const MARK_LENGTH = 8;

/** The version, with a mark of all that is shown: the newest file changes without anybody. */
export function etagOf({ version }: ScheduleRecord, shown: Schedule): string {
  const mark = createHash('sha256').update(JSON.stringify(shown)).digest('hex').slice(0, MARK_LENGTH);
  return `"${version}-${mark}"`;
}

/** A change needs the version alone. */
export function versionsNamed(ifMatch: string | undefined): string | undefined {
  return ifMatch?.replaceAll(/"(\d+)-[0-9a-f]{8}"/g, '"$1"');
}
