// What subscribers are told of an export that has ended. The link opens the file to everybody who has it, so it goes only to those who
// see as much as the requester of the export did, and so do the figures about what is in it.

import type { ExportId, ExportOutcome } from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import { isAtLeast } from '../access/roles.ts';
import { instant } from '../runtime/clock.ts';
import { type ExportViewParts, linkOf } from './export-view.ts';
import type { Exports } from './exports.ts';

export interface ExportToldParts extends Pick<ExportViewParts, 'keys' | 'clock' | 'apiUrl' | 'files'> {
  readonly exports: Pick<Exports, 'version' | 'find'>;
}

/** Undefined for one that is deleted. */
export function createExportTold({ exports, ...parts }: ExportToldParts) {
  return async (
    reader: Caller,
    { exportId, version }: { readonly exportId: ExportId; readonly version: number },
  ): Promise<ExportOutcome | undefined> => {
    const tenant = reader.tenant!;
    const current = await exports.find(tenant, exportId);
    const record = await exports.version(tenant, exportId, version);
    if (current === undefined || current.state === 'Deleted' || record === undefined) return undefined;
    const { requestedAtMs, format, completed, failed } = record;
    const isSeen = isAtLeast(reader.clearance, record.reader.clearance);
    const head = { exportId, requestedAt: instant(requestedAtMs), format };
    if (completed !== undefined) {
      const { atMs, eventCount, fileSize } = completed;
      const seen = isSeen ? { eventCount, fileSize, ...(await linkOf(current, parts)) } : {};
      return { ...head, status: 'Completed', completedAt: instant(atMs), ...seen };
    }
    if (failed === undefined) return undefined;
    const { atMs, reason: failureReason, details: errorDetails, isRetriable: retriable } = failed;
    return {
      ...head,
      status: 'Failed',
      completedAt: instant(atMs),
      failureReason,
      errorDetails,
      retriable,
    };
  };
}
