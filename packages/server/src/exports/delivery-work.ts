// The job of a delivery: it sends the file, and puts how it has ended into the record of the export, with a notice. One whose export is
// deleted meanwhile stops. One that fails is a dead letter as well: to reprocess it is to try it again.

import type { DeliveryDestination } from '@tallystick/contract';
import type { Tenants } from '../access/tenants.ts';
import { ClosedBox } from '../keys/secret-box.ts';
import type { ChangeRecords } from '../records/change.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Job, JobOutcome } from '../work/jobs.ts';
import { attemptsHere, Reach } from '../work/reach.ts';
import type { Holding, KindOfWork } from '../work/workers.ts';
import { type Destinations, targetOf } from './destinations.ts';
import { type ExportAct, putExport } from './export-changes.ts';
import {
  bytesIn,
  DELIVERY_WORK,
  type DeliveryRecord,
  type EndedDelivery,
  progressOfDelivery,
  withDelivery,
} from './export-delivery.ts';
import { ALTERED_FILE, type ExportFiles } from './export-files.ts';
import type { ExportKeys } from './export-keys.ts';
import type { DeliveryFault, DeliveryFaultReason, ExportTargets } from './export-target.ts';
import { hasFile } from './export-view.ts';
import type { ExportRecord } from './export.ts';
import type { Exports } from './exports.ts';
import { fileNameOf, mediaTypeOf } from './file-name.ts';

export interface DeliveryWorkParts {
  readonly exports: Pick<Exports, 'find'>;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly keys: Pick<ExportKeys, 'open'>;
  readonly files: Pick<ExportFiles, 'read' | 'has'>;
  readonly destinations: Pick<Destinations, 'open' | 'violatesResidency'>;
  readonly targets: ExportTargets;
  readonly change: ChangeRecords;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly uuid: () => string;
  readonly telemetry: Pick<Telemetry, 'warn'>;
}

/** It was not sent. */
class NotSent extends Error {
  readonly fault: DeliveryFault;

  constructor(fault: DeliveryFault) {
    super(`${fault.reason}: ${fault.message}`, { cause: fault.cause });
    this.fault = fault;
  }
}

/** Its export is gone, or the delivery is. */
class Unwanted extends Error {}

/** With twice the pause each time, more than eight minutes. */
const ATTEMPTS_MAX = 10;
const LOOK_EVERY_NS = 500e6;
/** While others change the same export. */
const CHANGES_MAX = 20;
/** In this process: one tenant that has as many as it may leaves room for others. */
const AT_ONCE = 12;
const PER_TENANT = 2;
/** One attempt may take so long, and longer by the size of the file: one that drips makes room for others, and goes on later. */
const ATTEMPT_MS_MAX = 900_000;
const BYTES_PER_MS_MIN = 64;
/** Of its file. */
const STEP = 1 / 20;

export function deliveryWork(parts: DeliveryWorkParts): KindOfWork {
  return {
    kind: DELIVERY_WORK,
    atOnce: AT_ONCE,
    perLane: 1,
    limits: () => ({ perTenant: PER_TENANT }),
    attemptsMax: ATTEMPTS_MAX,
    attemptsOf: attemptsHere,
    handle: (job, holding) => handle(job, holding, parts),
    outOfAttempts: (job) => giveUp(job, parts),
  };
}

interface Wanted {
  readonly record: ExportRecord;
  readonly delivery: DeliveryRecord;
}

async function handle(job: Job, holding: Holding, parts: DeliveryWorkParts): Promise<JobOutcome> {
  try {
    let wanted = await wantedOf(job, parts);
    const { ended: before } = wanted.delivery;
    if (before !== undefined && (before.status === 'Delivered' || !job.isLetter)) return outcomeOf(before);
    // To reprocess the dead letter is to try it again.
    if (before !== undefined) wanted = await put(job, undefined, 'DeliveryRetried', parts);
    const outcome = await attempt(wanted, job, holding, parts);
    await put(job, outcome, outcome.status === 'Delivered' ? 'Delivered' : 'DeliveryFailed', parts);
    return outcomeOf(outcome);
  } catch (error) {
    if (error instanceof Unwanted) return { status: 'Done' };
    throw error;
  }
}

/** Its holders have ended, or could not even begin: nobody else would tell that it has failed. */
async function giveUp(job: Job, parts: DeliveryWorkParts): Promise<JobOutcome> {
  const message = 'it was begun several times and did not end; the diagnostics of the service say why';
  const failed: EndedDelivery = {
    status: 'Failed',
    atMs: parts.clock.now(),
    bytes: bytesIn(job.progress),
    failureReason: `Internal: ${message}`,
  };
  try {
    const { ended: before } = (await wantedOf(job, parts)).delivery;
    if (before === undefined) await put(job, failed, 'DeliveryFailed', parts);
    return outcomeOf(before ?? failed);
  } catch (error) {
    if (error instanceof Unwanted) return { status: 'Done' };
    throw error;
  }
}

/** How it has ended. Throws where it is to be tried again. */
async function attempt(
  { record, delivery }: Wanted,
  job: Job,
  holding: Holding,
  parts: DeliveryWorkParts,
): Promise<EndedDelivery> {
  const { clock, telemetry } = parts;
  let bytes = bytesIn(job.progress);
  try {
    const location = await send(record, delivery, job, holding, (arrived) => (bytes = arrived), parts);
    return { status: 'Delivered', atMs: clock.now(), bytes: record.completed!.fileSize, location };
  } catch (error) {
    if (error instanceof Unwanted || holding.signal.aborted) throw error;
    const notSent = notSentBy(error);
    const { reason, isFinal } = notSent.fault;
    if (!isFinal && attemptsHere(job) < ATTEMPTS_MAX) throw notSent;
    const { tenant, lane: exportId, jobId: deliveryId } = job;
    telemetry.warn('a delivery of an export has failed', {
      tenant,
      exportId,
      deliveryId,
      reason,
      cause: String(error),
    });
    return { status: 'Failed', atMs: clock.now(), bytes, failureReason: notSent.message };
  }
}

async function send(
  record: ExportRecord,
  delivery: DeliveryRecord,
  job: Job,
  { signal, progress }: Holding,
  onArrived: (bytes: number) => void,
  parts: DeliveryWorkParts,
): Promise<string> {
  const { files, keys, targets, clock } = parts;
  if (!(await hasFile(record, files, clock.now())))
    throw ended('FileUnavailable', 'the file of the export is kept no more');
  const destination = await destinationOf(record, delivery, parts);
  const { fileSize, runId } = record.completed!;
  const place = { exportId: record.exportId, runId, key: await keys.open(record) };
  let lookedNs = clock.monotonicNs();
  const reach = new Reach(job, Math.max(1, fileSize * STEP));
  const late = new AbortController();
  const timer = clock.after(ATTEMPT_MS_MAX + fileSize / BYTES_PER_MS_MIN, () => late.abort(tooSlow()));
  using _ = { [Symbol.dispose]: () => timer.cancel() };
  const sent = await targetOf(targets, destination).send({
    destination,
    fileName: fileNameOf(record),
    mediaType: mediaTypeOf(record),
    byteLength: fileSize,
    read: (from, end) => files.read(place, from, end),
    signal: AbortSignal.any([signal, late.signal]),
    async onProgress(bytes) {
      onArrived(bytes);
      progress(progressOfDelivery(bytes, reach));
      if (clock.monotonicNs() - lookedNs < LOOK_EVERY_NS) return;
      lookedNs = clock.monotonicNs();
      await wantedOf(job, parts);
    },
  });
  if (sent.status === 'Failed') throw new NotSent(sent.fault);
  return sent.location;
}

/** The tenant may have been pinned to a region since it was asked for. */
async function destinationOf(
  record: ExportRecord,
  delivery: DeliveryRecord,
  { destinations, tenants }: DeliveryWorkParts,
): Promise<DeliveryDestination> {
  const tenant = await tenants.find(record.tenantId);
  if (
    tenant === undefined ||
    destinations.violatesResidency(delivery.destination as DeliveryDestination, tenant)
  )
    throw ended(
      'ResidencyViolation',
      'the data of the tenant must stay in its region, and the destination is not known to be there',
    );
  return destinations.open(record, delivery);
}

async function wantedOf({ tenant, lane, jobId }: Job, { exports }: DeliveryWorkParts): Promise<Wanted> {
  const record = await exports.find(tenant, lane);
  const delivery = record?.deliveries.find(({ deliveryId }) => deliveryId === jobId);
  if (record?.state !== 'Completed' || delivery === undefined) throw new Unwanted();
  return { record, delivery };
}

/** Puts its end into the record, or takes it back. */
async function put(
  job: Job,
  ended: EndedDelivery | undefined,
  act: ExportAct,
  parts: DeliveryWorkParts,
): Promise<Wanted> {
  const { change, nextId, uuid } = parts;
  for (let i = 0; i < CHANGES_MAX; i++) {
    const { record: current, delivery: before } = await wantedOf(job, parts);
    const { ended: _, ...rest } = before;
    // A secret that is not needed any more is not kept.
    const box = ended?.status === 'Delivered' ? '' : before.box;
    const delivery = { ...rest, box, ...(ended !== undefined && { ended }) };
    const record = { ...withDelivery(current, delivery), version: current.version + 1 };
    const told = { requestId: nextId(), correlationId: uuid() };
    if (await putExport({ record, act, ...told }, change)) return { record, delivery };
  }
  throw new Error(`the export ${job.lane} is being changed`);
}

function outcomeOf({ status, failureReason }: EndedDelivery): JobOutcome {
  return status === 'Delivered' ? { status: 'Done' } : { status: 'Dead', reason: failureReason ?? '' };
}

function notSentBy(error: unknown): NotSent {
  if (error instanceof NotSent) return error;
  if (error instanceof ClosedBox) return ended('Internal', 'its secrets do not open with the keyring', error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === ALTERED_FILE)
    return ended('FileUnavailable', 'the file of the export is not as it was written', error);
  const message = 'it failed; the diagnostics of the service say why';
  return new NotSent({ reason: 'Internal', message, isFinal: false, cause: error });
}

function tooSlow(): NotSent {
  const message = 'the destination took too long for the size of the file';
  return new NotSent({ reason: 'Timeout', message, isFinal: false });
}

function ended(reason: DeliveryFaultReason, message: string, cause?: unknown): NotSent {
  return new NotSent({ reason, message, isFinal: true, cause });
}
