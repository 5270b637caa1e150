// Removes the files of a tenant's exports once something of an event was removed for good: any of them may hold it. One that is being made
// is begun anew, and does not have it then; one that is complete has no file any more, and its link leads to nothing.

import type { TenantId } from '@tallystick/contract';
import type { ExportFiles } from './export-files.ts';
import type { Exports } from './exports.ts';

export function createRemoveFiles({
  exports,
  files,
}: {
  readonly exports: Pick<Exports, 'find'>;
  readonly files: Pick<ExportFiles, 'clean' | 'exportIds'>;
}) {
  return async (tenant: TenantId): Promise<void> => {
    // Files are kept for some days, and records for ever.
    for (const exportId of await files.exportIds())
      if ((await exports.find(tenant, exportId)) !== undefined) await files.clean(exportId);
  };
}
