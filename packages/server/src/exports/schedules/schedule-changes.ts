// Changes of schedules: each is one commit of a new version, the notice in the tenant's log that tells of it, the idempotency key of the
// request, and the job of the next run. A run also has the export that it asks for in that commit.

import { AuditError } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { type ChangeRecords, recordsOf, type RecordWrite } from '../../records/change.ts';
import type { Once } from '../../streams/log.ts';
import type { CausedJob } from '../../work/jobs.ts';
import { contentOfSchedule, SCHEDULE_KIND, type ScheduleRecord } from './schedule.ts';

export type ScheduleAct = 'Created' | 'Updated' | 'Run' | 'Deleted';

export interface ScheduleChange {
  readonly record: ScheduleRecord;
  readonly act: ScheduleAct;
  readonly requestId: string;
  readonly correlationId: string;
  readonly once?: Once | undefined;
  readonly jobs?: readonly CausedJob[];
  /** Other records of the same commit. */
  readonly others?: readonly RecordWrite[];
}

const ACTIONS: Readonly<Record<ScheduleAct, string>> = {
  Created: 'Create.ExportSchedule',
  Updated: 'Update.ExportSchedule',
  Run: 'Run.ExportSchedule',
  Deleted: 'Delete.ExportSchedule',
};

/** False if somebody else has changed it meanwhile. Throws DUPLICATE_NAME. */
export async function putSchedule(
  { record, act, requestId, correlationId, once, jobs = [], others = [] }: ScheduleChange,
  change: ChangeRecords,
): Promise<boolean> {
  const { scheduleId: id, version, tenantId: owner } = record;
  const payload = { act: `ExportSchedule${act}`, requestId, subjectIds: [id], count: 1 };
  const resource = { resourceType: SCHEDULE_KIND, resourceId: id };
  const notice = { kind: KINDS.administration, action: ACTIONS[act], resource, payload };
  const own = { kind: SCHEDULE_KIND, id, version, content: contentOfSchedule(record), notice } as const;
  const result = recordsOf(await change({ owner, writes: [...others, own], correlationId, once, jobs }));
  if (!('status' in result)) return true;
  if (result.status === 'Stale') return false;
  if (result.status === 'NameTaken')
    throw new AuditError(
      'DUPLICATE_NAME',
      `There is a schedule ${JSON.stringify(record.uniqueName)} already.`,
      {
        details: [{ field: 'name', issue: 'is taken by another schedule' }],
      },
    );
  throw new Error(`a change of the schedule ${id} was answered ${result.status}`);
}
