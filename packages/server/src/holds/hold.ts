// A legal hold as the service keeps it: a record of its tenant. It is placed, and perhaps released; nothing else of it ever changes.

import type { HoldId, LegalHold, TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { RecordContent } from '../records/record-macs.ts';
import type { StoredRecord } from '../records/records.ts';
import { instant } from '../runtime/clock.ts';

export const HOLD_KIND = 'LegalHold';

export interface HoldRecord {
  readonly holdId: HoldId;
  readonly tenantId: TenantId;
  readonly version: number;
  readonly name: string;
  readonly reason: string;
  /** Undefined: of any content. */
  readonly conditions: LegalHold['conditions'];
  /** Both ends are held. Undefined: the whole log. */
  readonly range: LegalHold['range'];
  readonly status: LegalHold['status'];
  readonly createdAtMs: number;
  readonly createdBy: string;
  /** Undefined while it is active. */
  readonly release: HoldRelease | undefined;
}

export interface HoldRelease {
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
}

/** The content of its record. Its name is for people: several holds may serve one case. */
export function contentOfHold(hold: HoldRecord): RecordContent {
  const { holdId: _, tenantId: __, version: ___, status, name, ...others } = hold;
  return { ...others, name, state: status, uniqueName: undefined };
}

/** Of a genuine record. */
export function holdIn({ owner, id, version, body }: StoredRecord): HoldRecord {
  // Written by `contentOfHold`.
  const { state, name, reason, conditions, range, createdAtMs, createdBy, release } = parseJson(body) as Omit<
    HoldRecord,
    'status'
  > & { readonly state: HoldRecord['status'] };
  const content = { name, reason, conditions, range, createdAtMs, createdBy, release };
  return { ...content, holdId: id, tenantId: owner, version, status: state };
}

/** `heldEvents` is undefined until they are counted. */
export function showHold(hold: HoldRecord, heldEvents?: number): LegalHold {
  const { holdId, tenantId, name, reason, conditions, range, status, createdAtMs, createdBy, release } = hold;
  return {
    holdId,
    tenantId,
    name,
    reason,
    ...(conditions !== undefined && { conditions }),
    ...(range !== undefined && { range }),
    status,
    ...(heldEvents !== undefined && { heldEvents }),
    createdAt: instant(createdAtMs),
    createdBy,
    ...(release !== undefined && {
      releasedAt: instant(release.atMs),
      releasedBy: release.by,
      releaseReason: release.reason,
    }),
  };
}
