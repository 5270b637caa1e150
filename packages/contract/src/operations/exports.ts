// Exports: requested, followed, downloaded, delivered, cancelled.

import { LIMITS } from '../limits.ts';
import { bytes, json, list, none, operation, restOnly, REVALIDATED } from '../operation.ts';
import { arrayOf, doc, optional, refusedAs } from '../schema.ts';
import { DeliverRequest, Export, ExportDelivery, ExportReceipt, ExportRequest } from '../schemas/export.ts';
import { JobStatus } from '../schemas/job.ts';
import { PAGING } from '../schemas/list.ts';
import { ExportId, Instant, OwnTenantId } from '../schemas/primitives.ts';
import { Type } from '../type.ts';

/** Whether it is sound is judged with the signature. */
const partOfLink = (description: string) =>
  Type.String({ maxLength: LIMITS.destinationTextLengthMax, description });

const exportId = refusedAs('EXPORT_NOT_FOUND', ExportId);

export const EXPORT_OPERATIONS = [
  operation({
    name: 'exports.create',
    summary: 'Request an export of everything that matches, as of now',
    effect: 'Write',
    permission: 'audit.exports.manage',
    input: { export: optional(ExportRequest) },
    output: json(ExportReceipt),
    answers: { Accepted: 'Queued; a restart does not lose it.' },
    errors: ['EXPORT_QUEUE_FULL'],
    rest: {
      method: 'POST',
      path: '/exports',
      body: 'export',
      answerHeaders: { Location: '/exports/{exportId}' },
    },
  }),
  operation({
    name: 'exports.list',
    summary: 'List exports, newest first',
    effect: 'Read',
    permission: 'audit.exports.manage',
    input: {
      status: optional(arrayOf(JobStatus, { minItems: 1, maxItems: 4 })),
      tenantId: optional(OwnTenantId),
      createdAfter: optional(doc(Instant, 'Requested after this instant, itself excluded.')),
      ...PAGING,
    },
    output: list(Export),
    answers: { Done: 'A page of exports.' },
    rest: { method: 'GET', path: '/exports' },
  }),
  operation({
    name: 'exports.get',
    summary: 'See how an export stands; a fresh download link when complete',
    effect: 'Read',
    permission: 'audit.exports.manage',
    input: { exportId },
    output: json(Export),
    answers: { Done: 'The export.' },
    rest: { method: 'GET', path: '/exports/{exportId}' },
  }),
  operation({
    name: 'exports.download',
    summary: 'Download the file of a completed export, whole or in part',
    effect: 'Read',
    permission: 'audit.exports.manage',
    signedLink: true,
    input: {
      exportId,
      tenant: optional(partOfLink('Part of a signed link.')),
      expires: optional(partOfLink('Part of a signed link: Unix seconds.')),
      signature: optional(partOfLink('Part of a signed link.')),
      range: optional(Type.String({ description: 'Bytes wanted; ignored when it cannot be met.' })),
      ifRange: optional(Type.String({ description: 'Send a part only if the file still has this ETag.' })),
    },
    output: bytes(
      'application/json',
      'text/csv; charset=utf-8',
      'application/xml',
      'application/x-ndjson',
      'application/zip',
      'application/gzip',
    ),
    answers: { Done: 'The file.', Part: 'The requested part of the file.' },
    errors: ['EXPORT_NOT_READY', 'SIGNED_URL_EXPIRED', 'SIGNED_URL_INVALID'],
    rest: {
      method: 'GET',
      path: '/exports/{exportId}/download',
      headers: { range: 'Range', ifRange: 'If-Range' },
      answerHeaders: {
        ...REVALIDATED,
        'Accept-Ranges': 'bytes',
        'Content-Range': '{contentRange}',
        'Content-Disposition': 'attachment; filename="{fileName}"',
      },
    },
    gaps: restOnly(
      'A file of any size, streamed in ranges: every protocol gets the signed link from exports.get.',
    ),
  }),
  operation({
    name: 'exports.deliver',
    summary: 'Send the file of a completed export to SFTP or object storage',
    effect: 'Write',
    permission: 'audit.exports.manage',
    input: { exportId, delivery: DeliverRequest },
    output: json(ExportDelivery),
    answers: { Accepted: 'The transfer goes on; the export lists it.' },
    errors: ['EXPORT_NOT_READY', 'EXPORT_QUEUE_FULL', 'RESIDENCY_VIOLATION'],
    rest: {
      method: 'POST',
      path: '/exports/{exportId}/deliver',
      body: 'delivery',
      answerHeaders: { Location: '/exports/{exportId}' },
    },
    gaps: { mcp: "The request carries secrets of the destination; a model's context is no place for them." },
  }),
  operation({
    name: 'exports.retry',
    summary: 'Run a failed export again',
    effect: 'Write',
    permission: 'audit.exports.manage',
    input: { exportId },
    output: json(ExportReceipt),
    answers: { Accepted: 'Queued again.' },
    errors: ['EXPORT_NOT_RETRIABLE', 'EXPORT_QUEUE_FULL'],
    rest: {
      method: 'POST',
      path: '/exports/{exportId}/retry',
      answerHeaders: { Location: '/exports/{exportId}' },
    },
  }),
  operation({
    name: 'exports.delete',
    summary: 'Cancel an export that is not finished, or delete one that is',
    effect: 'Write',
    permission: 'audit.exports.manage',
    input: { exportId },
    output: none,
    answers: { Removed: 'The export and its file are gone.' },
    rest: { method: 'DELETE', path: '/exports/{exportId}' },
  }),
] as const;
