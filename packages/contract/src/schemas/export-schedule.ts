// Schedules of exports: the same export again and again, sent to a place, each with what came since the one before.

import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import { byDefault, choice, doc, object, optional, readOnly, refusedAs, strictObject } from '../schema.ts';
import { Type } from '../type.ts';
import {
  ContentColumns,
  DeliveryDestination,
  ExportCriteria,
  ExportFormat,
  ShownDestination,
} from './export.ts';
import { JobStatus } from './job.ts';
import {
  CallerName,
  Count,
  ExportId,
  Hash,
  Instant,
  ScheduleId,
  Sequence,
  TenantId,
  text,
} from './primitives.ts';

export type SchedulePeriod = Static<typeof SchedulePeriod>;
export const SchedulePeriod = choice(
  'SchedulePeriod',
  'When it runs, in UTC: at each full hour, at midnight, or at midnight before the first of a month.',
  ['Hour', 'Day', 'Month'],
);

const name = text(LIMITS.nameLengthMax, 'For people.');
const destination = refusedAs('INVALID_DESTINATION', DeliveryDestination);
/** In a record that is sent back. */
const unchanged = 'As it is; another one is refused.';
const active = (sentence: string) => Type.Boolean({ description: sentence });

export type ScheduleRequest = Static<typeof ScheduleRequest>;
export const ScheduleRequest = strictObject(
  'ScheduleRequest',
  'A Zip with proofs for each period, sent to the destination.',
  {
    name,
    every: SchedulePeriod,
    criteria: optional(doc(ExportCriteria, 'Without `sort`: rows are in the order of the log.')),
    format: optional(byDefault(ExportFormat, 'JSON')),
    contentColumns: optional(ContentColumns),
    destination,
    fromSequence: optional(
      doc(
        Sequence,
        'Where the first file begins: at most the sequence of the next event. 1, the whole log so far, when absent.',
      ),
    ),
    active: optional(byDefault(active('It runs.'), true)),
  },
);

export type ScheduleChange = Static<typeof ScheduleChange>;
export const ScheduleChange = strictObject(
  'ScheduleChange',
  'What is not sent stays. What is exported cannot be changed: make another schedule for that.',
  {
    name: optional(name),
    every: optional(SchedulePeriod),
    destination: optional(destination),
    active: optional(active('False: it pauses. The next file has what came meanwhile.')),
    criteria: optional(doc(ExportCriteria, unchanged)),
    format: optional(doc(ExportFormat, unchanged)),
    contentColumns: optional(doc(ContentColumns, unchanged)),
    ...readOnly('scheduleId', 'tenantId', 'createdAt', 'createdBy', 'updatedAt', 'nextRunAt', 'lastRun'),
  },
);

export type ScheduleRun = Static<typeof ScheduleRun>;
export const ScheduleRun = object('ScheduleRun', 'The newest file of a schedule, or the attempt at it.', {
  number: doc(Sequence, 'From 1. A run that fails is made again under the same number.'),
  exportId: ExportId,
  status: JobStatus,
  fromSequence: doc(Sequence, 'The first event that belongs to it.'),
  toSequence: optional(doc(Count, 'The last one, once it is complete.')),
  manifest: optional(doc(Hash, 'SHA-256 of its `manifest.json`; the next file names it.')),
});

export type Schedule = Static<typeof Schedule>;
export const Schedule = object('Schedule', 'A schedule of exports.', {
  scheduleId: ScheduleId,
  tenantId: TenantId,
  name,
  every: SchedulePeriod,
  criteria: ExportCriteria,
  format: ExportFormat,
  contentColumns: optional(ContentColumns),
  destination: ShownDestination,
  active: active('False: it is paused.'),
  createdAt: Instant,
  createdBy: CallerName,
  updatedAt: Instant,
  nextRunAt: optional(doc(Instant, 'While it is active.')),
  lastRun: optional(ScheduleRun),
});
