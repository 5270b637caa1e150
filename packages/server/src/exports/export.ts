// An export as the service keeps it: a record of its tenant. Each version has a notice in the log, so the log says who has asked for
// which export, and the checksum of each file that was made. How far it has come is known to its job alone.

import type {
  Classification,
  EventId,
  Export,
  ExportCompression,
  ExportCriteria,
  ExportFailureReason,
  ExportFormat,
  ExportId,
  PolicyId,
  Role,
  ScheduleId,
  ShownDestination,
  TenantId,
} from '@tallystick/contract';
import { type ContentPath, parseJson } from '@tallystick/evidence';
import type { Caller } from '../access/caller.ts';
import type { TenantRecord } from '../access/tenants.ts';
import type { RecordContent } from '../records/record-macs.ts';
import type { StoredRecord } from '../records/records.ts';
import type { DeliveryRecord } from './export-delivery.ts';

export const EXPORT_KIND = 'Export';

/** `Pending`: also while it is made. */
export const EXPORT_STATES = ['Pending', 'Completed', 'Failed', 'Deleted'] as const;
export type ExportState = (typeof EXPORT_STATES)[number];

export interface ExportRecord {
  readonly exportId: ExportId;
  readonly tenantId: TenantId;
  readonly version: number;
  readonly state: ExportState;
  readonly name: string | undefined;
  readonly criteria: ExportCriteria;
  readonly format: ExportFormat;
  /** Of CSV, behind the columns of every file. */
  readonly contentColumns: readonly ContentPath[];
  readonly compression: ExportCompression;
  readonly includeProofs: boolean;
  /** Without secrets. */
  readonly destination: ShownDestination;
  /** Undefined: nobody but a caller has asked for it. */
  readonly schedule: ScheduledRun | undefined;
  readonly requestedAtMs: number;
  readonly requestedBy: string;
  readonly reader: ExportReader;
  readonly snapshot: Snapshot;
  /** That makes the file. */
  readonly jobId: string;
  /** The key of the file, in a box. Empty once it is deleted. */
  readonly fileKey: string;
  readonly completed: CompletedFile | undefined;
  readonly failed: Failure | undefined;
  /** Of one that is deleted and had a file. */
  readonly removed?: RemovedFile | undefined;
  /** The oldest first. */
  readonly deliveries: readonly DeliveryRecord[];
}

/** The place of an export among the files of its schedule. */
export interface ScheduledRun {
  readonly scheduleId: ScheduleId;
  /** From 1. */
  readonly number: number;
  /** SHA-256, in hex, of the manifest of the file before it; null: it is the first. */
  readonly previous: string | null;
  /** In the tenant's sequence: what stands before it is in the files before. */
  readonly fromIndex: number;
  /** Once it is complete. It stays when the export is deleted: the next file continues there. */
  readonly made?: MadeRun;
}

export interface MadeRun {
  /** SHA-256, in hex. */
  readonly manifest: string;
  /** The first index that does not belong to it. */
  readonly endIndex: number;
}

/** By whose rights events are read: those that its requester had then. */
export interface ExportReader {
  readonly identity: string;
  readonly roles: readonly Role[];
  readonly clearance: Classification;
}

/** What the tenant had when the export was asked for. */
export interface Snapshot {
  /** The notice of the request: what stands before it in the log belongs to the export. */
  readonly noticeId: EventId;
  readonly policies: readonly { readonly policyId: PolicyId; readonly version: number }[];
  readonly holdIds: readonly string[];
}

export interface CompletedFile {
  readonly startedAtMs: number;
  readonly atMs: number;
  readonly eventCount: number;
  readonly fileSize: number;
  /** SHA-256, in hex. */
  readonly checksum: string;
  /** Names the file. */
  readonly runId: string;
  readonly expiresAtMs: number;
}

/** By which links to a file that was are still known from altered ones. */
export interface RemovedFile {
  readonly runId: string;
  /** In a box. */
  readonly linkKey: string;
}

export interface Failure {
  readonly startedAtMs: number;
  readonly atMs: number;
  readonly reason: ExportFailureReason;
  readonly details: string;
  readonly isRetriable: boolean;
}

export function contentOfExport(record: ExportRecord): RecordContent {
  const { exportId: _, tenantId: __, version: ___, ...content } = record;
  return content;
}

type Content = Omit<
  ExportRecord,
  'exportId' | 'tenantId' | 'version' | 'deliveries' | 'contentColumns' | 'schedule'
> &
  // Older records have none.
  Partial<Pick<ExportRecord, 'deliveries' | 'contentColumns' | 'schedule'>>;

/** Of a genuine record. */
export function exportIn({ owner, id, version, body }: StoredRecord): ExportRecord {
  // Written by `contentOfExport`.
  const content = parseJson(body) as Content;
  const { name, completed, failed, deliveries = [], contentColumns = [], schedule } = content;
  return {
    ...content,
    name,
    completed,
    failed,
    deliveries,
    contentColumns,
    schedule,
    exportId: id,
    tenantId: owner,
    version,
  };
}

/** The reader as whom it sees events. */
export function readerOf({ tenantId, requestedBy, reader }: ExportRecord): Caller {
  const { identity, roles, clearance } = reader;
  return {
    name: requestedBy,
    identity,
    tenant: tenantId,
    namesTenant: false,
    roles,
    clearance,
    refusal: () => 'FORBIDDEN',
  };
}

/** The file is kept: see also ExportFiles.has. */
export function isKept({ state, completed }: ExportRecord, nowMs: number): boolean {
  return state === 'Completed' && completed !== undefined && nowMs < completed.expiresAtMs;
}

export type ShownState = Export['status'];

/** What the tenant has now. */
export function snapshotOf({ policies, holds }: TenantRecord, noticeId: EventId): Snapshot {
  return {
    noticeId,
    policies: policies.map(({ policyId, version }) => ({ policyId, version })),
    holdIds: holds.map(({ holdId }) => holdId),
  };
}

/** A failed one, of what the tenant has now, by the rights that its requester had. */
export function retried(record: ExportRecord, tenant: TenantRecord, noticeId: EventId): ExportRecord {
  return { ...record, state: 'Pending', failed: undefined, snapshot: snapshotOf(tenant, noticeId) };
}
