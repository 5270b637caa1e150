// Downloads of the file of an export, whole or a part: by a link that this service has signed, or by a caller who sees at least as much
// as its requester did. Each is a notice in the log, which is durable before the first byte goes out.

import {
  type Answer,
  AuditError,
  ERRORS,
  type ExportId,
  type InputOf,
  isUuid,
  TENANT_ID_PATTERN,
} from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import { isAtLeast } from '../access/roles.ts';
import type { Tenancy } from '../access/tenancy.ts';
import type { Call } from '../call.ts';
import type { Clock } from '../runtime/clock.ts';
import { draftNotice } from '../streams/append/notice.ts';
import type { EventsRequest } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import type { ExportFiles } from './export-files.ts';
import { type ExportKeys, isSigned } from './export-keys.ts';
import { hasFile } from './export-view.ts';
import { EXPORT_KIND, type ExportRecord } from './export.ts';
import { type Exports, foundExport, unknownExport } from './exports.ts';
import { fileNameOf, mediaTypeOf } from './file-name.ts';

export interface DownloadParts {
  readonly exports: Pick<Exports, 'find'>;
  readonly keys: Pick<ExportKeys, 'open' | 'openLinks'>;
  readonly files: ExportFiles;
  readonly tenancy: Pick<Tenancy, 'admit'>;
  readonly sequencer: { append(request: EventsRequest): Promise<unknown> };
  readonly clock: Pick<Clock, 'now'>;
  readonly nextId: () => string;
  readonly uuid: () => string;
  readonly telemetry: Pick<Telemetry, 'info'>;
}

const TENANT_ID = new RegExp(TENANT_ID_PATTERN);

type DownloadInput = InputOf<'exports.download'>;

export function createDownload(parts: DownloadParts) {
  return async (call: Call, input: DownloadInput): Promise<Answer<'exports.download'>> => {
    const record =
      call.caller === undefined ? await linked(input, parts) : await ownFile(call, input.exportId, parts);
    if (!(await hasFile(record, parts.files, parts.clock.now())))
      throw new AuditError('EXPORT_NOT_READY', ERRORS.EXPORT_NOT_READY.meaning);
    const key = await parts.keys.open(record);
    await noteDownload(call, record, parts);
    const { fileSize, checksum, runId } = record.completed!;
    const etag = `"${checksum}"`;
    const range = rangeIn(input, etag, fileSize);
    const { from, end } = range ?? { from: 0, end: fileSize };
    return {
      kind: range === undefined ? 'Done' : 'Part',
      body: {
        mediaType: mediaTypeOf(record),
        fileName: fileNameOf(record),
        bytes: parts.files.read({ exportId: record.exportId, runId, key }, from, end),
        byteLength: end - from,
      },
      facts: { etag, ...(range !== undefined && { contentRange: `bytes ${from}-${end - 1}/${fileSize}` }) },
    };
  };
}

/**
 * By a link, whose signature is judged first: to strangers all that is not signed is the same, whether or not there is such a tenant
 * or export.
 */
async function linked(
  { exportId, tenant: tenantId = '', expires = '', signature = '' }: DownloadInput,
  parts: DownloadParts,
): Promise<ExportRecord> {
  const record = TENANT_ID.test(tenantId) ? await parts.exports.find(tenantId, exportId) : undefined;
  const links = record && (await parts.keys.openLinks(record));
  const isTime = /^\d{1,12}$/.test(expires);
  const link = { tenantId, exportId, runId: links?.runId ?? '', expires: isTime ? Number(expires) : 0 };
  if (!isSigned(link, signature, links?.linkKey) || !isTime)
    throw new AuditError('SIGNED_URL_INVALID', ERRORS.SIGNED_URL_INVALID.meaning);
  await parts.tenancy.admit(tenantId);
  if (record === undefined || record.state === 'Deleted') throw unknownExport(exportId);
  if (link.expires * 1000 <= parts.clock.now())
    throw new AuditError('SIGNED_URL_EXPIRED', ERRORS.SIGNED_URL_EXPIRED.meaning);
  return record;
}

async function ownFile(call: Call, exportId: ExportId, parts: DownloadParts): Promise<ExportRecord> {
  const record = await foundExport(call.tenant!, exportId, parts.exports);
  if (!isAtLeast(call.caller!.clearance, record.reader.clearance)) throw unknownExport(exportId);
  return record;
}

async function noteDownload(
  { caller, correlation: { requestId, correlationId } }: Call,
  { tenantId: tenant, exportId }: ExportRecord,
  { sequencer, telemetry, clock, nextId, uuid }: DownloadParts,
): Promise<void> {
  // The notice stays for ever and names no person; the diagnostics name the reader, for the operator.
  telemetry.info('an export is downloaded', {
    tenant,
    exportId,
    requestId,
    caller: caller?.name ?? 'a signed link',
  });
  const notice = draftNotice(
    {
      kind: KINDS.administration,
      action: 'Download.Export',
      resource: { resourceType: EXPORT_KIND, resourceId: exportId },
      payload: { act: 'ExportDownloaded', requestId, subjectIds: [exportId], count: 1 },
      correlationId: isUuid(correlationId) ? correlationId : uuid(),
    },
    { eventId: nextId(), nowMs: clock.now() },
  );
  await sequencer.append({ tenant, drafts: [notice], atomic: true });
}

/** One range that the file has; any other is ignored, and so is one of another file. */
function rangeIn({ range, ifRange }: DownloadInput, etag: string, size: number) {
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range.trim()) ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  return from < end ? { from, end } : undefined;
}
