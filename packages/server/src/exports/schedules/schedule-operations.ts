// The operations on schedules.

import {
  type Answer,
  AuditError,
  type DeliveryDestination,
  type InputOf,
  LIMITS,
  type Schedule,
  type ScheduleId,
  type TenantId,
} from '@tallystick/contract';
import { canonicalJson, parseJson } from '@tallystick/evidence';
import type { Tenancy } from '../../access/tenancy.ts';
import type { TenantRecord } from '../../access/tenants.ts';
import { type Call, type OwnViolation, type Received, receivedMember } from '../../call.ts';
import { type Cursors, isId, newestFirst, readPage, rowsIn } from '../../paging.ts';
import type { ChangeRecords } from '../../records/change.ts';
import { requireMatch } from '../../records/if-match.ts';
import { UNCLASSIFIED } from '../../repeats.ts';
import { ulidTimeMs } from '../../runtime/ids.ts';
import { KeyedQueue } from '../../runtime/turns.ts';
import { type IdempotencyTime, idempotencyNowMs, onceOf } from '../../streams/append/idempotency-key.ts';
import type { LogReader, UsedIdempotencyKey } from '../../streams/log.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { WorkStore } from '../../work/jobs.ts';
import { contentColumnsOf } from '../content-columns.ts';
import { destinationFaults } from '../destination-faults.ts';
import type { Destinations } from '../destinations.ts';
import { shownDestination } from '../export-delivery.ts';
import { criteriaOfFileFaults } from '../export-faults.ts';
import { putSchedule, type ScheduleAct } from './schedule-changes.ts';
import { etagOf, type ScheduleViewParts, showSchedule, versionsNamed } from './schedule-view.ts';
import { nextRunAfter, runJob, SCHEDULE_WORK, type ScheduleRecord } from './schedule.ts';
import { foundSchedule, type Schedules } from './schedules.ts';

export interface ScheduleOperationParts extends ScheduleViewParts, IdempotencyTime {
  readonly schedules: Schedules;
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly change: ChangeRecords;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly destinations: Pick<Destinations, 'admit' | 'seal'>;
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly cursors: Cursors;
  readonly nextId: () => string;
  readonly telemetry: Pick<Telemetry, 'info'>;
}

/** While others, or a run, change the same schedule. */
const ATTEMPTS_MAX = 20;

export function createScheduleOperations(parts: ScheduleOperationParts) {
  const requests = new ScheduleRequests(parts);
  const shown = ({ record, body }: Answered) => ({ body, facts: { etag: etagOf(record, body) } });
  /** The newest file as it stood then: nothing else that is shown changes without a version. */
  const answerAgain = async (call: Call, _: Received, { note }: UsedIdempotencyKey) => {
    const [, scheduleId = '', version, run] = /^(\S*) (\d+)(?: (.*))?$/.exec(note) ?? [];
    const record = await parts.schedules.version(call.tenant!, scheduleId, Number(version));
    if (record === undefined) throw new Error(`there is no version ${version} of the schedule ${scheduleId}`);
    const { lastRun: now, ...body } = await showSchedule(record, parts);
    const lastRun = run === undefined ? now : (parseJson(run) as Schedule['lastRun'] | null);
    return {
      kind: 'Repeated',
      ...shown({ record, body: { ...body, ...(lastRun && { lastRun }) } }),
    } as const;
  };
  return {
    'exportSchedules.create': {
      async perform(
        call: Call,
        { schedule }: InputOf<'exportSchedules.create'>,
      ): Promise<Answer<'exportSchedules.create'>> {
        return { kind: 'Created', ...shown(await requests.create(call, schedule)) };
      },
      rules: ({ schedule }: Received['input']): OwnViolation[] => [
        ...criteriaOfFileFaults(schedule).map((detail) => ({ member: 'schedule', detail })),
        ...destinationFaults(receivedMember(schedule, 'destination'), 'schedule'),
      ],
      answerAgain,
    },
    async 'exportSchedules.list'(
      call: Call,
      input: InputOf<'exportSchedules.list'>,
    ): Promise<Answer<'exportSchedules.list'>> {
      // A tenant has few, and those that are deleted are left aside by their state.
      const there = await requests.there(call);
      const read = readPage(parts.cursors, call, input, isId);
      const rows = rowsIn(there, ({ scheduleId }) => scheduleId, newestFirst(read));
      const { data, pagination } = read.page(rows, ({ scheduleId }) => scheduleId, there.length);
      const body = { data: await Promise.all(data.map((each) => showSchedule(each, parts))), pagination };
      return { kind: 'Done', body };
    },
    async 'exportSchedules.get'(
      call: Call,
      { scheduleId }: InputOf<'exportSchedules.get'>,
    ): Promise<Answer<'exportSchedules.get'>> {
      const record = await foundSchedule(call.tenant!, scheduleId, parts.schedules);
      return { kind: 'Done', ...shown({ record, body: await showSchedule(record, parts) }) };
    },
    'exportSchedules.replace': {
      async perform(
        call: Call,
        { scheduleId, ifMatch, changes }: InputOf<'exportSchedules.replace'>,
      ): Promise<Answer<'exportSchedules.replace'>> {
        return { kind: 'Done', ...shown(await requests.replace(call, scheduleId, ifMatch, changes)) };
      },
      rules: ({ changes }: Received['input']) =>
        destinationFaults(receivedMember(changes, 'destination'), 'changes'),
      answerAgain,
    },
    async 'exportSchedules.delete'(
      call: Call,
      { scheduleId, ifMatch }: InputOf<'exportSchedules.delete'>,
    ): Promise<Answer<'exportSchedules.delete'>> {
      await requests.remove(call, scheduleId, ifMatch);
      return { kind: 'Removed', body: undefined };
    },
  };
}

/** As it is shown in the answer, which a repeat gets again. */
interface Answered {
  readonly record: ScheduleRecord;
  readonly body: Schedule;
}

type Next = Omit<ScheduleRecord, 'version' | 'updatedAtMs'>;

class ScheduleRequests {
  readonly #parts: ScheduleOperationParts;
  /** Requests of a tenant run one after the other in this process; nodes may pass a limit together. */
  readonly #turns = new KeyedQueue();

  constructor(parts: ScheduleOperationParts) {
    this.#parts = parts;
  }

  /** By id. */
  async there(call: Call): Promise<ScheduleRecord[]> {
    const all = { way: 'Rising', beyond: undefined, limit: LIMITS.exportSchedulesMax * 2 } as const;
    const states = ['Active', 'Paused'].map((state) =>
      this.#parts.schedules.pageInState(call.tenant!, state, all),
    );
    return (await Promise.all(states)).flat().toSorted((a, b) => (a.scheduleId < b.scheduleId ? -1 : 1));
  }

  async create(call: Call, wanted: InputOf<'exportSchedules.create'>['schedule']): Promise<Answered> {
    const { tenancy, destinations, nextId } = this.#parts;
    const tenant = call.tenantRecord ?? (await tenancy.provide(call.tenant!));
    await destinations.admit(wanted.destination, tenant);
    return this.#turns.take(call.tenant!, async () => {
      await this.#requireRoom(call);
      await this.#requireBegun(call.tenant!, wanted.fromSequence ?? 1);
      const { tenantId } = tenant;
      const scheduleId = nextId();
      const { name: createdBy, identity, roles, clearance } = call.caller!;
      const createdAtMs = ulidTimeMs(scheduleId);
      const record: ScheduleRecord = {
        scheduleId,
        tenantId,
        version: 1,
        state: wanted.active === false ? 'Paused' : 'Active',
        uniqueName: wanted.name,
        every: wanted.every,
        criteria: wanted.criteria ?? {},
        format: wanted.format ?? 'JSON',
        contentColumns: contentColumnsOf(wanted.contentColumns ?? []),
        destination: shownDestination(wanted.destination),
        box: await destinations.seal({ tenantId, scheduleId }, wanted.destination),
        fromIndex: (wanted.fromSequence ?? 1) - 1,
        reader: { identity, roles, clearance },
        createdAtMs,
        createdBy,
        updatedAtMs: createdAtMs,
        nextRunAtMs: nextRunAfter(wanted.every, createdAtMs),
        jobId: nextId(),
        last: undefined,
      };
      const answered = { record, body: await showSchedule(record, this.#parts) };
      await this.#put(call, answered, 'Created', tenant);
      return answered;
    });
  }

  async replace(
    call: Call,
    scheduleId: ScheduleId,
    ifMatch: string | undefined,
    changes: InputOf<'exportSchedules.replace'>['changes'],
  ): Promise<Answered> {
    const { schedules, destinations, clock, nextId } = this.#parts;
    await foundSchedule(call.tenant!, scheduleId, schedules);
    const { name, every, destination, active } = changes;
    if (destination !== undefined) await destinations.admit(destination, call.tenantRecord!);
    return this.#change(call, scheduleId, ifMatch, 'Updated', async (current) => {
      requireSame(current, changes);
      const next = {
        ...current,
        ...(name !== undefined && { uniqueName: name }),
        ...(every !== undefined && { every }),
        ...(active !== undefined && { state: active ? ('Active' as const) : ('Paused' as const) }),
        ...(destination !== undefined && (await this.#sealed(current, destination))),
      };
      const isOther = next.every !== current.every || next.state !== current.state;
      return isOther
        ? { ...next, nextRunAtMs: nextRunAfter(next.every, clock.now()), jobId: nextId() }
        : next;
    });
  }

  /** Its versions before keep what it had. */
  async remove(call: Call, scheduleId: ScheduleId, ifMatch: string | undefined): Promise<void> {
    await this.#change(call, scheduleId, ifMatch, 'Deleted', (current) => ({
      ...current,
      state: 'Deleted',
      uniqueName: undefined,
      criteria: {},
      contentColumns: [],
      box: '',
    }));
    await this.#parts.work.forTenant(call.tenant!).removeLane({ kind: SCHEDULE_WORK, lane: scheduleId });
  }

  async #sealed(owner: ScheduleRecord, destination: DeliveryDestination) {
    const box = await this.#parts.destinations.seal(owner, destination);
    return { destination: shownDestination(destination), box };
  }

  #change(
    call: Call,
    scheduleId: ScheduleId,
    ifMatch: string | undefined,
    act: ScheduleAct,
    make: (current: ScheduleRecord) => Promise<Next> | Next,
  ): Promise<Answered> {
    const { schedules, clock } = this.#parts;
    return this.#turns.take(call.tenant!, async () => {
      for (let attempt = 1; ; attempt++) {
        const current = await foundSchedule(call.tenant!, scheduleId, schedules);
        requireMatch(versionsNamed(ifMatch), current.version);
        const made = await make(current);
        const record = { ...made, version: current.version + 1, updatedAtMs: clock.now() };
        const answered = { record, body: await showSchedule(record, this.#parts) };
        // A schedule belongs to a tenant, so there is one.
        if (await this.#put(call, answered, act, call.tenantRecord!)) return answered;
        if (attempt === ATTEMPTS_MAX)
          throw new AuditError(
            'SERVICE_UNAVAILABLE',
            `The schedule ${scheduleId} is being changed; try again.`,
          );
      }
    });
  }

  /** False if somebody else has changed it meanwhile. */
  async #put(
    call: Call,
    { record, body }: Answered,
    act: ScheduleAct,
    tenant: TenantRecord,
  ): Promise<boolean> {
    const { change, telemetry, clock } = this.#parts;
    const { requestId, correlationId } = call.correlation;
    const { tenantId, scheduleId, version } = record;
    // Report it before it is done, so that no change goes unseen.
    const caller = call.caller!.name;
    telemetry.info('a schedule of exports is changed', {
      tenant: tenantId,
      scheduleId,
      act,
      requestId,
      caller,
    });
    const nowMs = idempotencyNowMs(this.#parts);
    const note = `${scheduleId} ${version} ${JSON.stringify(body.lastRun ?? null)}`;
    const once = onceOf(call, tenant, nowMs, UNCLASSIFIED, note);
    const jobs = record.state === 'Active' ? [runJob(record, clock.now())] : [];
    return putSchedule({ record, act, requestId, correlationId, once, jobs }, change);
  }

  /** A file that begins behind the log would end before it begins. */
  async #requireBegun(tenant: TenantId, fromSequence: number): Promise<void> {
    const [newest] = await this.#parts.log.forTenant(tenant).streams({ before: undefined }, 1);
    const next = (newest?.endIndex ?? 0) + 1;
    if (fromSequence <= next) return;
    const issue = `must be at most ${next}, the sequence of the next event`;
    throw new AuditError('VALIDATION_FAILED', `fromSequence ${issue}.`, {
      details: [{ field: 'fromSequence', issue, value: fromSequence }],
    });
  }

  async #requireRoom(call: Call): Promise<void> {
    const { length } = await this.there(call);
    if (length < LIMITS.exportSchedulesMax) return;
    const message = `The tenant has ${length} schedules; the limit is ${LIMITS.exportSchedulesMax}.`;
    throw new AuditError('VALIDATION_FAILED', message, {
      details: [{ field: '', issue: 'is one too many' }],
    });
  }
}

/** A record that is sent back has what cannot be changed. */
function requireSame(
  { criteria, format, contentColumns }: ScheduleRecord,
  sent: InputOf<'exportSchedules.replace'>['changes'],
): void {
  const columns = contentColumnsOf(sent.contentColumns ?? []);
  const pairs = [
    ['criteria', sent.criteria, criteria],
    ['format', sent.format, format],
    ['contentColumns', sent.contentColumns && columns, contentColumns],
  ] as const;
  const textOf = (value: unknown) => canonicalJson(value);
  const details = pairs
    .filter(([, value, now]) => value !== undefined && textOf(value) !== textOf(now))
    .map(([field]) => ({ field, issue: 'cannot be changed: make another schedule' }));
  const [first] = details;
  if (first === undefined) return;
  throw new AuditError('VALIDATION_FAILED', `${first.field} ${first.issue}.`, { details });
}
