// Destinations of deliveries, from a request to the record: whether one is allowed, and its secrets in a box.

import {
  AuditError,
  type DeliveryDestination,
  type ErrorDetail,
  type ExportDeliveryId,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { TenantRecord } from '../access/tenants.ts';
import type { SecretBoxes } from '../keys/secret-box.ts';
import type { DeliveryRecord } from './export-delivery.ts';
import { SCHEDULE_KIND, type ScheduleRecord } from './schedules/schedule.ts';
import { shownDestination } from './export-delivery.ts';
import { createResidency, type ViolatesResidency } from './residency.ts';
import { EXPORT_KIND, type ExportRecord } from './export.ts';
import type { DestinationFault, ExportTarget, ExportTargets } from './export-target.ts';

type Owner = Pick<ExportRecord, 'tenantId' | 'exportId'>;
type Schedule = Pick<ScheduleRecord, 'tenantId' | 'scheduleId'>;

export interface Destinations {
  /** Whether data of a tenant that is pinned to a region would leave it, as far as anybody knows. */
  readonly violatesResidency: ViolatesResidency;
  /** Throws INVALID_DESTINATION, or RESIDENCY_VIOLATION. */
  admit(destination: DeliveryDestination, tenant: Pick<TenantRecord, 'tenantId' | 'region'>): Promise<void>;
  make(owner: Owner, wanted: WantedDelivery): Promise<DeliveryRecord>;
  /** Throws ClosedBox. */
  open(owner: Owner, delivery: DeliveryRecord): Promise<DeliveryDestination>;
  /** With its secrets, in a box of a schedule. */
  seal(owner: Schedule, destination: DeliveryDestination): Promise<string>;
  /** Throws ClosedBox. */
  openSealed(owner: Schedule, box: string): Promise<DeliveryDestination>;
}

export interface WantedDelivery {
  readonly deliveryId: ExportDeliveryId;
  readonly destination: DeliveryDestination;
  readonly requestedAtMs: number;
  readonly requestedBy: string;
}

export function createDestinations(
  targets: ExportTargets,
  boxes: SecretBoxes,
  violatesResidency: ViolatesResidency = createResidency(),
): Destinations {
  const placeOf = ({ tenantId: tenant, exportId: id }: Owner, deliveryId: ExportDeliveryId) =>
    ({ tenant, kind: EXPORT_KIND, id, purpose: `destination of the delivery ${deliveryId}` }) as const;
  const placeOfSchedule = ({ tenantId: tenant, scheduleId: id }: Schedule) =>
    ({ tenant, kind: SCHEDULE_KIND, id, purpose: 'destination' }) as const;
  return {
    violatesResidency,
    async admit(destination, tenant) {
      if (violatesResidency(destination, tenant)) throw outside(tenant);
      const fault = await targetOf(targets, destination).judge(destination);
      if (fault !== undefined) throw notAllowed(fault);
    },
    async make(owner, { deliveryId, destination, requestedAtMs, requestedBy }) {
      const box = await boxes.seal(JSON.stringify(destination), placeOf(owner, deliveryId));
      return { deliveryId, destination: shownDestination(destination), box, requestedAtMs, requestedBy };
    },
    async open(owner, { deliveryId, box }) {
      return parseJson(await boxes.open(box, placeOf(owner, deliveryId))) as DeliveryDestination;
    },
    seal: (owner, destination) => boxes.seal(JSON.stringify(destination), placeOfSchedule(owner)),
    async openSealed(owner, box) {
      return parseJson(await boxes.open(box, placeOfSchedule(owner))) as DeliveryDestination;
    },
  };
}

export function targetOf(targets: ExportTargets, { type }: DeliveryDestination): ExportTarget {
  // The type of a destination names the target that takes it.
  return targets[type];
}

function outside({ tenantId, region }: Pick<TenantRecord, 'tenantId' | 'region'>): AuditError {
  const message = `The data of ${tenantId} must stay in ${region}; the destination is not known to be there.`;
  return new AuditError('RESIDENCY_VIOLATION', message);
}

function notAllowed({ field, issue }: DestinationFault): AuditError {
  const detail: ErrorDetail = { field: `destination.${field}`, issue };
  return new AuditError('INVALID_DESTINATION', `${detail.field} ${issue}`, { details: [detail] });
}
