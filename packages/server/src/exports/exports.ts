// Exports of tenants, read from their records.

import { AuditError, type ExportId, type TenantId } from '@tallystick/contract';
import { createGenuineRecords, type GenuineParts, type GenuineRecords } from '../records/genuine-records.ts';
import { EXPORT_KIND, exportIn, type ExportRecord } from './export.ts';

export type Exports = GenuineRecords<ExportRecord>;

export function createExports(parts: GenuineParts): Exports {
  return createGenuineRecords(EXPORT_KIND, exportIn, parts);
}

/** Throws EXPORT_NOT_FOUND, also for one that is deleted. */
export async function foundExport(
  tenant: TenantId,
  exportId: ExportId,
  exports: Pick<Exports, 'find'>,
): Promise<ExportRecord> {
  const record = await exports.find(tenant, exportId);
  if (record === undefined || record.state === 'Deleted') throw unknownExport(exportId);
  return record;
}

export function unknownExport(exportId: ExportId): AuditError {
  return new AuditError('EXPORT_NOT_FOUND', `There is no export ${exportId}.`);
}
