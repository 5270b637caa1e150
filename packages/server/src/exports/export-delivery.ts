// A delivery: the file of an export, sent to a destination. Its record is part of that of the export. Until it has ended its job knows how
// far it has come.

import {
  type DeliveryDestination,
  type ExportDelivery,
  type ExportDeliveryId,
  type ShownDestination,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { CausedJob, Job } from '../work/jobs.ts';
import type { Reach } from '../work/reach.ts';
import type { ExportRecord } from './export.ts';

export interface DeliveryRecord {
  readonly deliveryId: ExportDeliveryId;
  /** Without secrets. */
  readonly destination: ShownDestination;
  /** The destination with its secrets, in a box. Empty once the file is delivered. */
  readonly box: string;
  readonly requestedAtMs: number;
  readonly requestedBy: string;
  readonly ended?: EndedDelivery | undefined;
}

export interface EndedDelivery {
  readonly status: 'Delivered' | 'Failed';
  readonly atMs: number;
  readonly bytes: number;
  readonly location?: string;
  readonly failureReason?: string;
}

export const DELIVERY_WORK = 'ExportDelivery';

/** One at a time for an export: two to the same place would write the same file. */
export function deliveryJob(exportId: string, { deliveryId }: Pick<DeliveryRecord, 'deliveryId'>): CausedJob {
  return { jobId: deliveryId, kind: DELIVERY_WORK, lane: exportId, body: JSON.stringify({ exportId }) };
}

/** Those that begin when the file is there. */
export function jobsOfDeliveries({ exportId, deliveries }: ExportRecord): CausedJob[] {
  return deliveries.filter(({ ended }) => ended === undefined).map((each) => deliveryJob(exportId, each));
}

export function shownDestination(destination: DeliveryDestination): ShownDestination {
  if (destination.type === 'Sftp') {
    const { type, host, port = 22, path, username } = destination;
    return { type, host, port, path, username };
  }
  const { type, provider, endpoint, region, bucket, prefix } = destination;
  return {
    type,
    provider,
    ...(endpoint !== undefined && { endpoint }),
    region,
    bucket,
    ...(prefix !== undefined && { prefix }),
  };
}

/** As it stands; `job` undefined: there is none yet, or none any more. */
export function showDelivery(
  { exportId, state }: Pick<ExportRecord, 'exportId' | 'state'>,
  { deliveryId, destination, ended }: DeliveryRecord,
  job: Pick<Job, 'startedAtMs' | 'progress'> | undefined,
): ExportDelivery {
  const head = { deliveryId, exportId };
  if (ended !== undefined) {
    const { status, bytes: bytesTransferred, location, failureReason } = ended;
    return {
      ...head,
      status,
      destination,
      bytesTransferred,
      ...(location !== undefined && { location }),
      ...(failureReason !== undefined && { failureReason }),
    };
  }
  if (state === 'Failed') {
    const failureReason = 'ExportFailed: there is no file to send, because the export has failed';
    return { ...head, status: 'Failed', destination, bytesTransferred: 0, failureReason };
  }
  const status = job?.startedAtMs === undefined ? 'Pending' : 'InProgress';
  return { ...head, status, destination, bytesTransferred: bytesIn(job?.progress) };
}

export function progressOfDelivery(bytesTransferred: number, reach: Reach): string {
  return JSON.stringify({ bytesTransferred, ...reach.at(bytesTransferred) });
}

export function bytesIn(progress: string | undefined): number {
  return progress === undefined ? 0 : (parseJson(progress) as { bytesTransferred: number }).bytesTransferred;
}

/** The record with this delivery in the place of an older version of it. */
export function withDelivery(record: ExportRecord, delivery: DeliveryRecord): ExportRecord {
  const deliveries = record.deliveries.map((each) =>
    each.deliveryId === delivery.deliveryId ? delivery : each,
  );
  return { ...record, deliveries };
}
