// The schedules of a tenant over HTTP. A change is retried if its answer is lost; the Idempotency-Key makes sure that it is done once.

import type { Schedule, ScheduleChange, ScheduleRequest } from '@tallystick/contract';
import { allPages, type AskedService, askerOf, misshapen } from '../ask-json.ts';
import { areTexts, membersOf } from '../members.ts';
import { type Change, retried } from '../retried-change.ts';

const ROOT = 'export-schedules';
const ADVICE = {
  401: 'give an API key that may export (audit:export) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not export here: it needs audit:export, the role Admin or Auditor if it has roles, and the tenant',
  404: undefined,
} as const;

export interface ServedSchedules {
  list(): Promise<Schedule[]>;
  get(scheduleId: string): Promise<Schedule>;
  create(wanted: ScheduleRequest, change: Change): Promise<Schedule>;
  replace(scheduleId: string, changes: ScheduleChange, change: Change): Promise<Schedule>;
  remove(scheduleId: string): Promise<void>;
}

export function servedSchedules(service: AskedService): ServedSchedules {
  const ask = askerOf(service, ADVICE);
  const send = async (method: 'POST' | 'PUT', path: string, body: object, change: Change) => {
    const { answer } = await retried(change, (headers) => ask(path, { method, headers, body }));
    if (!isSchedule(answer)) throw misshapen(path);
    return answer;
  };
  const pathOf = (scheduleId: string) => `${ROOT}/${encodeURIComponent(scheduleId)}`;
  return {
    list: () => allPages(ask, ROOT, { limit: '100' }, isSchedule),
    async get(scheduleId) {
      const { answer, path } = await ask(pathOf(scheduleId));
      if (!isSchedule(answer)) throw misshapen(path);
      return answer;
    },
    create: (wanted, change) => send('POST', ROOT, wanted, change),
    replace: (scheduleId, changes, change) => send('PUT', pathOf(scheduleId), changes, change),
    async remove(scheduleId) {
      await ask(pathOf(scheduleId), { method: 'DELETE' });
    },
  };
}

/** Any server may be at the address. */
function isSchedule(value: unknown): value is Schedule {
  const one = membersOf(value);
  const { lastRun, active } = one;
  const run = membersOf(lastRun);
  return (
    areTexts(one, ['scheduleId', 'name', 'every', 'format', 'createdAt', 'createdBy']) &&
    typeof active === 'boolean' &&
    typeof membersOf(one['destination'])['type'] === 'string' &&
    (lastRun === undefined || (areTexts(run, ['exportId', 'status']) && typeof run['number'] === 'number'))
  );
}
