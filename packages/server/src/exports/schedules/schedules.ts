// Schedules of tenants, read from their records.

import { AuditError, type ScheduleId, type TenantId } from '@tallystick/contract';
import {
  createGenuineRecords,
  type GenuineParts,
  type GenuineRecords,
} from '../../records/genuine-records.ts';
import { SCHEDULE_KIND, scheduleIn, type ScheduleRecord } from './schedule.ts';

export type Schedules = GenuineRecords<ScheduleRecord>;

export function createSchedules(parts: GenuineParts): Schedules {
  return createGenuineRecords(SCHEDULE_KIND, scheduleIn, parts);
}

/** Throws SCHEDULE_NOT_FOUND, also for one that is deleted. */
export async function foundSchedule(
  tenant: TenantId,
  scheduleId: ScheduleId,
  schedules: Pick<Schedules, 'find'>,
): Promise<ScheduleRecord> {
  const record = await schedules.find(tenant, scheduleId);
  if (record === undefined || record.state === 'Deleted')
    throw new AuditError('SCHEDULE_NOT_FOUND', `There is no schedule ${scheduleId}.`);
  return record;
}
