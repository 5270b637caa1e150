// The operations on exports.

import {
  type Answer,
  AuditError,
  ERRORS,
  type ExportDestination,
  type ExportId,
  type ExportReceipt,
  type ExportRequest,
  type InputOf,
  LIMITS,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Tenancy } from '../access/tenancy.ts';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call, Received } from '../call.ts';
import type { Cursors } from '../paging.ts';
import type { ChangeRecords } from '../records/change.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import { ulidTimeMs } from '../runtime/ids.ts';
import { KeyedQueue } from '../runtime/turns.ts';
import { type IdempotencyTime, idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import { contentColumnsOf } from './content-columns.ts';
import type { Destinations } from './destinations.ts';
import { type ExportAct, makingJob, putExport } from './export-changes.ts';
import { DELIVERY_WORK, type DeliveryRecord } from './export-delivery.ts';
import { exportFaults } from './export-faults.ts';
import { listExports } from './list-exports.ts';
import type { ExportFiles } from './export-files.ts';
import type { ExportKeys } from './export-keys.ts';
import { type ExportViewParts, receiptOf, showExport } from './export-view.ts';
import { EXPORT_WORK } from './export-work.ts';
import { type ExportRecord, retried, snapshotOf } from './export.ts';
import { type Exports, foundExport } from './exports.ts';

export interface ExportOperationParts extends ExportViewParts, IdempotencyTime {
  readonly exports: Exports;
  readonly change: ChangeRecords;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly keys: ExportKeys;
  readonly destinations: Pick<Destinations, 'admit' | 'make'>;
  readonly files: ExportFiles;
  readonly cursors: Cursors;
  readonly clock: IdempotencyTime['clock'];
  readonly nextId: () => string;
  readonly telemetry: Pick<Telemetry, 'info'>;
  /** There is something to make. */
  readonly wake: () => void;
}

const DOWNLOAD: ExportDestination = { type: 'Download' };
const OPEN_MAX = LIMITS.exportsRunningMax + LIMITS.exportsWaitingMax;
const RETRY_AFTER_SECONDS = 10;
/** While others change the same export. */
const ATTEMPTS_MAX = 20;

export function createExportOperations(parts: ExportOperationParts) {
  const requests = new ExportRequests(parts);
  return {
    'exports.create': {
      async perform(
        call: Call,
        { export: wanted = {} }: InputOf<'exports.create'>,
      ): Promise<Answer<'exports.create'>> {
        return { kind: 'Accepted', body: await requests.create(call, wanted) };
      },
      rules: exportFaults,
      answerAgain,
    },
    'exports.list': (call: Call, input: InputOf<'exports.list'>) => listExports(call, input, parts),
    async 'exports.get'(call: Call, { exportId }: InputOf<'exports.get'>): Promise<Answer<'exports.get'>> {
      return {
        kind: 'Done',
        body: await showExport(call, await foundExport(call.tenant!, exportId, parts.exports), parts),
      };
    },
    'exports.retry': {
      async perform(call: Call, { exportId }: InputOf<'exports.retry'>): Promise<Answer<'exports.retry'>> {
        return { kind: 'Accepted', body: await requests.retry(call, exportId) };
      },
      answerAgain,
    },
    async 'exports.delete'(
      call: Call,
      { exportId }: InputOf<'exports.delete'>,
    ): Promise<Answer<'exports.delete'>> {
      await requests.remove(call, exportId);
      return { kind: 'Removed', body: undefined };
    },
  };
}

const answerAgain = (_: Call, __: Received, { note }: UsedIdempotencyKey) =>
  ({ kind: 'Repeated', body: parseJson(note) as ExportReceipt }) as const;

class ExportRequests {
  readonly #parts: ExportOperationParts;
  /** Requests of a tenant run one after the other in this process, so that they do not conflict; nodes may pass a limit together. */
  readonly #turns = new KeyedQueue();

  constructor(parts: ExportOperationParts) {
    this.#parts = parts;
  }

  async create(call: Call, wanted: ExportRequest): Promise<ExportReceipt> {
    const { tenancy, nextId, keys } = this.#parts;
    const tenant = call.tenantRecord ?? (await tenancy.provide(call.tenant!));
    const { destination = DOWNLOAD } = wanted;
    if (destination.type !== 'Download') await this.#parts.destinations.admit(destination, tenant);
    return this.#turns.take(call.tenant!, async () => {
      await this.#requireRoom(call);
      const { tenantId } = tenant;
      const exportId = nextId();
      const { name: requestedBy, identity, roles, clearance } = call.caller!;
      // Its id tells the same time, so that a list is in the order of the requests.
      const requestedAtMs = ulidTimeMs(exportId);
      const deliveries = await this.#deliveriesTo(
        destination,
        { tenantId, exportId },
        requestedBy,
        requestedAtMs,
      );
      const record: ExportRecord = {
        exportId,
        tenantId,
        version: 1,
        state: 'Pending',
        name: wanted.name,
        criteria: wanted.criteria ?? wanted.searchCriteria ?? {},
        format: wanted.format ?? 'JSON',
        compression: wanted.compression ?? 'None',
        contentColumns: contentColumnsOf(wanted.contentColumns ?? []),
        includeProofs: wanted.includeProofs ?? false,
        destination: deliveries[0]?.destination ?? DOWNLOAD,
        requestedAtMs,
        requestedBy,
        reader: { identity, roles, clearance },
        snapshot: snapshotOf(tenant, nextId()),
        schedule: undefined,
        jobId: nextId(),
        fileKey: await keys.make({ tenantId, exportId }),
        completed: undefined,
        failed: undefined,
        deliveries,
      };
      const receipt = receiptOf(record);
      await this.#put(call, record, 'Requested', receipt, tenant);
      return receipt;
    });
  }

  /** What the tenant has by now is exported, by the rights that its first requester had. */
  retry(call: Call, exportId: ExportId): Promise<ExportReceipt> {
    const { nextId, work } = this.#parts;
    return this.#change(call, exportId, async (current) => {
      if (current.state !== 'Failed' || current.failed?.isRetriable !== true)
        throw new AuditError('EXPORT_NOT_RETRIABLE', ERRORS.EXPORT_NOT_RETRIABLE.meaning);
      await this.#requireRoom(call);
      // Its dead letter goes: another job makes it now.
      await work.forTenant(call.tenant!).removeLane({ kind: EXPORT_WORK, lane: exportId });
      const record = { ...retried(current, call.tenantRecord!, nextId()), jobId: nextId() };
      return { record, act: 'Retried', answer: receiptOf(record) };
    });
  }

  async remove(call: Call, exportId: ExportId): Promise<void> {
    const { files, keys, work } = this.#parts;
    await this.#change(call, exportId, async (current) => {
      const { completed: _, failed: __, ...others } = current;
      const record: ExportRecord = {
        ...others,
        state: 'Deleted',
        name: undefined,
        criteria: {},
        contentColumns: [],
        fileKey: '',
        completed: undefined,
        failed: undefined,
        removed: await keys.keepLinks(current),
        deliveries: [],
      };
      return { record, act: 'Deleted', answer: undefined };
    });
    // Its key is gone from the record. What cannot be removed now is swept away later.
    await files.clean(exportId).catch(() => {});
    const jobs = work.forTenant(call.tenant!);
    for (const kind of [EXPORT_WORK, DELIVERY_WORK] as const) await jobs.removeLane({ kind, lane: exportId });
  }

  /** Begun when the file is there. */
  async #deliveriesTo(
    destination: ExportDestination,
    owner: Pick<ExportRecord, 'tenantId' | 'exportId'>,
    requestedBy: string,
    requestedAtMs: number,
  ): Promise<readonly DeliveryRecord[]> {
    if (destination.type === 'Download') return [];
    const { destinations, nextId } = this.#parts;
    const wanted = { deliveryId: nextId(), destination, requestedBy, requestedAtMs };
    return [await destinations.make(owner, wanted)];
  }

  #change<T>(
    call: Call,
    exportId: ExportId,
    make: (current: ExportRecord) => Promise<{ record: ExportRecord; act: ExportAct; answer: T }>,
  ): Promise<T> {
    return this.#turns.take(call.tenant!, async () => {
      for (let attempt = 1; ; attempt++) {
        const current = await foundExport(call.tenant!, exportId, this.#parts.exports);
        const { record, act, answer } = await make(current);
        // An export belongs to a tenant, so there is one.
        const next = { ...record, version: current.version + 1 };
        if (await this.#put(call, next, act, answer, call.tenantRecord!)) return answer;
        if (attempt === ATTEMPTS_MAX)
          throw new AuditError('SERVICE_UNAVAILABLE', `The export ${exportId} is being changed; try again.`);
      }
    });
  }

  /** False if somebody else has changed it meanwhile. */
  async #put(
    call: Call,
    record: ExportRecord,
    act: ExportAct,
    answer: unknown,
    tenant: TenantRecord,
  ): Promise<boolean> {
    const { change, telemetry, wake } = this.#parts;
    const { requestId, correlationId } = call.correlation;
    const { tenantId, exportId } = record;
    // Report it before it is done, so that no change goes unseen.
    const caller = call.caller!.name;
    telemetry.info('an export is changed', { tenant: tenantId, exportId, act, requestId, caller });
    const note = answer === undefined ? '' : JSON.stringify(answer);
    const once = onceOf(call, tenant, idempotencyNowMs(this.#parts), UNCLASSIFIED, note);
    const jobs = record.state === 'Pending' ? [makingJob(record)] : [];
    const isPut = await putExport({ record, act, requestId, correlationId, once, jobs }, change);
    if (jobs.length > 0) wake();
    return isPut;
  }

  async #requireRoom(call: Call): Promise<void> {
    const open = await this.#parts.exports.countInState(call.tenant!, 'Pending');
    if (open < OPEN_MAX) return;
    throw new AuditError(
      'EXPORT_QUEUE_FULL',
      `${open} exports of this tenant are running or waiting; the limit is ${OPEN_MAX}.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
}
