// Asks for the delivery of a file that is there. A job sends it; its secrets are in the record as a box, and in nothing that is shown.

import {
  type Answer,
  AuditError,
  ERRORS,
  type ExportDelivery,
  type ExportId,
  type InputOf,
  LIMITS,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { isAtLeast } from '../access/roles.ts';
import type { Call, Received } from '../call.ts';
import { receivedMember } from '../call.ts';
import type { ChangeRecords } from '../records/change.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import { type IdempotencyTime, idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import { destinationFaults } from './destination-faults.ts';
import type { Destinations } from './destinations.ts';
import { putExport } from './export-changes.ts';
import { deliveryJob, type DeliveryRecord, showDelivery } from './export-delivery.ts';
import type { ExportFiles } from './export-files.ts';
import { hasFile } from './export-view.ts';
import type { ExportRecord } from './export.ts';
import { type Exports, foundExport, unknownExport } from './exports.ts';

export interface DeliverParts extends IdempotencyTime {
  readonly exports: Pick<Exports, 'find'>;
  readonly files: Pick<ExportFiles, 'has'>;
  readonly change: ChangeRecords;
  readonly destinations: Pick<Destinations, 'admit' | 'make'>;
  readonly nextId: () => string;
  readonly telemetry: Pick<Telemetry, 'info'>;
  /** There is something to send. */
  readonly wakeDelivery: () => void;
}

/** While others change the same export. */
const ATTEMPTS_MAX = 20;
/** Kept in the record; the oldest that have ended go first. */
const DELIVERIES_MAX = 50;
const RETRY_AFTER_SECONDS = 10;

export function createDeliver(parts: DeliverParts) {
  return {
    async perform(
      call: Call,
      { exportId, delivery: { destination } }: InputOf<'exports.deliver'>,
    ): Promise<Answer<'exports.deliver'>> {
      const { destinations, nextId, clock } = parts;
      await deliverable(call, exportId, parts);
      await destinations.admit(destination, call.tenantRecord!);
      const made = await destinations.make(
        { tenantId: call.tenant!, exportId },
        {
          deliveryId: nextId(),
          destination,
          requestedAtMs: clock.now(),
          requestedBy: call.caller!.name,
        },
      );
      return { kind: 'Accepted', body: await put(call, exportId, made, parts) };
    },
    rules: ({ delivery }: Received['input']) =>
      destinationFaults(receivedMember(delivery, 'destination'), 'delivery'),
    answerAgain: (_: Call, __: Received, { note }: UsedIdempotencyKey) =>
      ({ kind: 'Repeated', body: parseJson(note) as ExportDelivery }) as const,
  };
}

/** Only callers who could download the file may send it elsewhere. */
async function deliverable(
  call: Call,
  exportId: ExportId,
  { exports, files, clock }: DeliverParts,
): Promise<ExportRecord> {
  const record = await foundExport(call.tenant!, exportId, exports);
  if (!isAtLeast(call.caller!.clearance, record.reader.clearance)) throw unknownExport(exportId);
  if (!(await hasFile(record, files, clock.now())))
    throw new AuditError('EXPORT_NOT_READY', ERRORS.EXPORT_NOT_READY.meaning);
  return record;
}

async function put(
  call: Call,
  exportId: ExportId,
  delivery: DeliveryRecord,
  parts: DeliverParts,
): Promise<ExportDelivery> {
  const { change, telemetry, wakeDelivery } = parts;
  const { requestId, correlationId } = call.correlation;
  const { deliveryId } = delivery;
  // Report it before it is done, so that no change goes unseen.
  const told = { tenant: call.tenant!, exportId, deliveryId, requestId, caller: call.caller!.name };
  telemetry.info('the delivery of an export is requested', told);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const current = await deliverable(call, exportId, parts);
    const deliveries = [...roomIn(current), delivery];
    const record = { ...current, deliveries, version: current.version + 1 };
    const body = showDelivery(record, delivery, undefined);
    const nowMs = idempotencyNowMs(parts);
    const once = onceOf(call, call.tenantRecord!, nowMs, UNCLASSIFIED, JSON.stringify(body));
    const jobs = [deliveryJob(exportId, delivery)];
    const act = 'DeliveryRequested';
    if (await putExport({ record, act, requestId, correlationId, once, jobs }, change)) {
      wakeDelivery();
      return body;
    }
  }
  throw new AuditError('SERVICE_UNAVAILABLE', `The export ${exportId} is being changed; try again.`);
}

function roomIn({ deliveries }: ExportRecord): readonly DeliveryRecord[] {
  const open = deliveries.filter(({ ended }) => ended === undefined);
  if (open.length >= LIMITS.exportsWaitingMax)
    throw new AuditError(
      'EXPORT_QUEUE_FULL',
      `${open.length} deliveries of this export are waiting; the limit is ${LIMITS.exportsWaitingMax}.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  const spare = Math.max(0, deliveries.length + 1 - DELIVERIES_MAX);
  const gone = new Set(deliveries.filter(({ ended }) => ended !== undefined).slice(0, spare));
  return deliveries.filter((each) => !gone.has(each));
}
