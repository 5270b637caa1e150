// Schedules of exports.

import { json, list, none, operation, REVALIDATED } from '../operation.ts';
import { refusedAs } from '../schema.ts';
import { Schedule, ScheduleChange, ScheduleRequest } from '../schemas/export-schedule.ts';
import { PAGING } from '../schemas/list.ts';
import { ScheduleId } from '../schemas/primitives.ts';
import { ifMatch, inIfMatch } from './if-match.ts';

const scheduleId = refusedAs('SCHEDULE_NOT_FOUND', ScheduleId);
const tagged = { ETag: '{etag}' };
const secrets = {
  mcp: "The request carries secrets of the destination; a model's context is no place for them.",
};

export const EXPORT_SCHEDULE_OPERATIONS = [
  operation({
    name: 'exportSchedules.create',
    summary: 'Export again and again what came since the last time',
    effect: 'Write',
    permission: 'audit.exports.manage',
    input: { schedule: ScheduleRequest },
    output: json(Schedule),
    answers: { Created: 'The schedule; its first file comes at the end of the period.' },
    errors: ['DUPLICATE_NAME', 'RESIDENCY_VIOLATION'],
    rest: {
      method: 'POST',
      path: '/export-schedules',
      body: 'schedule',
      answerHeaders: { Location: '/export-schedules/{scheduleId}', ...tagged },
    },
    gaps: secrets,
  }),
  operation({
    name: 'exportSchedules.list',
    summary: 'List schedules of exports, newest first',
    effect: 'Read',
    permission: 'audit.exports.manage',
    input: { ...PAGING },
    output: list(Schedule),
    answers: { Done: 'A page of schedules.' },
    rest: { method: 'GET', path: '/export-schedules' },
  }),
  operation({
    name: 'exportSchedules.get',
    summary: 'See a schedule and its newest file',
    effect: 'Read',
    permission: 'audit.exports.manage',
    input: { scheduleId },
    output: json(Schedule),
    answers: { Done: 'The schedule.' },
    rest: {
      method: 'GET',
      path: '/export-schedules/{scheduleId}',
      answerHeaders: { ...REVALIDATED, ...tagged },
    },
  }),
  operation({
    name: 'exportSchedules.replace',
    summary: 'Rename, pause or resume a schedule, or send its files elsewhere',
    effect: 'Write',
    permission: 'audit.exports.manage',
    input: { scheduleId, ifMatch, changes: ScheduleChange },
    output: json(Schedule),
    answers: { Done: 'The schedule as it is now; what was not sent is as before.' },
    errors: ['DUPLICATE_NAME', 'RESIDENCY_VIOLATION'],
    rest: {
      method: 'PUT',
      path: '/export-schedules/{scheduleId}',
      headers: inIfMatch,
      body: 'changes',
      answerHeaders: tagged,
    },
    gaps: secrets,
  }),
  operation({
    name: 'exportSchedules.delete',
    summary: 'Delete a schedule; the exports that it made stay',
    effect: 'Write',
    permission: 'audit.exports.manage',
    input: { scheduleId, ifMatch },
    output: none,
    answers: { Removed: 'It runs no more.' },
    rest: { method: 'DELETE', path: '/export-schedules/{scheduleId}', headers: inIfMatch },
  }),
] as const;
