// Exports: a snapshot of what the requester may see, written to a file, downloaded or delivered elsewhere.

import type { Static } from 'typebox';
import { LIMITS } from '../limits.ts';
import {
  arrayOf,
  byDefault,
  choice,
  doc,
  guarded,
  object,
  optional,
  refusedAs,
  strictObject,
  variants,
} from '../schema.ts';
import { Type } from '../type.ts';
import { Conditions } from './condition.ts';
import { JobStatus } from './job.ts';
import {
  CallerName,
  Count,
  ExportDeliveryId,
  ExportId,
  Instant,
  Percent,
  ScheduleId,
  secret,
  Sequence,
  TenantId,
  text,
} from './primitives.ts';
import { QueryText, SearchFilters, SortSteps } from './search.ts';

export type ExportFormat = Static<typeof ExportFormat>;
export const ExportFormat = choice('ExportFormat', 'How events are written.', [
  'JSON',
  'CSV',
  'XML',
  'NDJSON',
]);
export type ExportCompression = Static<typeof ExportCompression>;
export const ExportCompression = choice('ExportCompression', 'How the file is packed.', [
  'None',
  'Zip',
  'Gzip',
]);

export type ExportCriteria = Static<typeof ExportCriteria>;
export const ExportCriteria = strictObject('ExportCriteria', 'Which events; all of them when empty.', {
  query: optional(QueryText),
  filters: optional(SearchFilters),
  conditions: optional(Conditions),
  sort: optional(SortSteps),
});

export const ContentColumns = doc(
  arrayOf(text(LIMITS.conditionPathLengthMax), { maxItems: LIMITS.exportContentColumnsMax }),
  'Of CSV: values in context and payload that get a column each, behind the others: `payload.amount`, `payload.lines[0].sku`.',
);

const place = (description: string) => text(LIMITS.destinationTextLengthMax, description);

export const DownloadDestination = strictObject('DownloadDestination', 'Kept by the service for download.', {
  type: Type.Literal('Download'),
});

export const SftpDestination = strictObject('SftpDestination', 'A directory on an SFTP server.', {
  type: Type.Literal('Sftp'),
  host: place('Host name or address.'),
  port: optional(Type.Integer({ minimum: 1, maximum: 65_535, default: 22 })),
  path: place('Directory.'),
  username: place('Who logs in.'),
  password: optional(secret(LIMITS.destinationTextLengthMax, 'This or `privateKey`.')),
  privateKey: optional(secret(LIMITS.privateKeyLengthMax, 'This or `password`; OpenSSH or PEM text.')),
  hostKeyFingerprint: place('As ssh-keygen prints it: `SHA256:…`. Another key ends the delivery.'),
});

export const ObjectStorageDestination = strictObject('ObjectStorageDestination', 'A bucket.', {
  type: Type.Literal('ObjectStorage'),
  provider: choice('ObjectStorageProvider', 'The protocol it speaks.', ['S3']),
  endpoint: optional(Type.String({ format: 'uri', maxLength: LIMITS.urlLengthMax })),
  region: place('Region.'),
  bucket: place('Bucket.'),
  prefix: optional(
    Type.String({ maxLength: LIMITS.destinationTextLengthMax, description: 'Before the name of the file.' }),
  ),
  accessKeyId: place('Access key.'),
  secretAccessKey: secret(LIMITS.destinationTextLengthMax, 'Its secret.'),
});

export type DeliveryDestination = Static<typeof DeliveryDestination>;
export const DeliveryDestination = variants('DeliveryDestination', 'Where to send the file.', 'type', [
  SftpDestination,
  ObjectStorageDestination,
]);

export type ExportDestination = Static<typeof ExportDestination>;
export const ExportDestination = variants(
  'ExportDestination',
  'What becomes of the file when complete.',
  'type',
  [DownloadDestination, SftpDestination, ObjectStorageDestination],
);

export type ExportRequest = Static<typeof ExportRequest>;
export const ExportRequest = strictObject(
  'ExportRequest',
  'All members are optional; none exports everything as JSON.',
  {
    name: optional(text(LIMITS.nameLengthMax, 'For people.')),
    criteria: optional(ExportCriteria),
    searchCriteria: optional(doc(ExportCriteria, 'Another word for `criteria`; send one of them.')),
    format: optional(byDefault(ExportFormat, 'JSON')),
    compression: optional(byDefault(ExportCompression, 'None')),
    contentColumns: optional(ContentColumns),
    includeProofs: optional(
      Type.Boolean({ default: false, description: 'Put an evidence bundle beside the data. Needs `Zip`.' }),
    ),
    destination: optional(refusedAs('INVALID_DESTINATION', ExportDestination)),
  },
);

export type DeliverRequest = Static<typeof DeliverRequest>;
export const DeliverRequest = strictObject(
  'DeliverRequest',
  'Send the file of a completed export elsewhere.',
  {
    destination: refusedAs('INVALID_DESTINATION', DeliveryDestination),
  },
);

export type ShownDestination = Static<typeof ShownDestination>;
export const ShownDestination = object('ShownDestination', 'A destination without its secrets.', {
  type: choice('DestinationType', 'What kind of place.', ['Download', 'Sftp', 'ObjectStorage']),
  host: optional(Type.String()),
  port: optional(Type.Integer()),
  path: optional(Type.String()),
  username: optional(Type.String()),
  provider: optional(Type.String()),
  endpoint: optional(Type.String()),
  region: optional(Type.String()),
  bucket: optional(Type.String()),
  prefix: optional(Type.String()),
});

export type ExportDelivery = Static<typeof ExportDelivery>;
export const ExportDelivery = object('ExportDelivery', 'The transfer of a file to a destination.', {
  deliveryId: ExportDeliveryId,
  exportId: ExportId,
  status: choice('ExportDeliveryStatus', 'Where the transfer stands.', [
    'Pending',
    'InProgress',
    'Delivered',
    'Failed',
  ]),
  destination: optional(ShownDestination),
  bytesTransferred: Count,
  location: optional(Type.String({ description: 'Where the file is, once delivered.' })),
  failureReason: optional(Type.String()),
});

export type ExportFailureReason = Static<typeof ExportFailureReason>;
export const ExportFailureReason = choice('ExportFailureReason', 'Why an export failed.', [
  'CriteriaInvalid',
  'RetentionPurged',
  'StorageFull',
  'StorageError',
  'Timeout',
  'PermissionLost',
  'Internal',
]);

export type ExportProgress = Static<typeof ExportProgress>;
export const ExportProgress = object('ExportProgress', 'How far an export has come, and how fast it goes.', {
  percent: doc(Percent, 'Of the work; the proofs of an export with proofs are half of it.'),
  processedEvents: doc(Count, 'In the file so far.'),
  totalEvents: optional(doc(Count, 'Once known.')),
  eventsPerSecond: optional(doc(Count, 'While it runs, on average.')),
  estimatedCompletionAt: optional(doc(Instant, 'While it runs and there is a pace to tell by.')),
});

export type ExportPlace = Static<typeof ExportPlace>;
export const ExportPlace = object('ExportPlace', 'Which file of a schedule it is.', {
  scheduleId: ScheduleId,
  number: doc(Sequence, 'From 1, without gaps.'),
});

export type Export = Static<typeof Export>;
export const Export = object('Export', 'An export, requested, running or done.', {
  exportId: ExportId,
  tenantId: TenantId,
  name: optional(Type.String()),
  status: JobStatus,
  progress: ExportProgress,
  criteria: ExportCriteria,
  format: ExportFormat,
  compression: ExportCompression,
  contentColumns: optional(ContentColumns),
  includeProofs: Type.Boolean(),
  destination: ShownDestination,
  schedule: optional(ExportPlace),
  requestedAt: Instant,
  requestedBy: CallerName,
  startedAt: optional(Instant),
  completedAt: optional(doc(Instant, 'When it was completed, or failed.')),
  eventCount: optional(Count),
  fileSize: optional(doc(Count, 'Bytes.')),
  checksum: optional(Type.String({ description: '`sha256:` and lowercase hex.' })),
  downloadUrl: optional(
    guarded(Type.String({ format: 'uri', description: 'Signed; works without a credential.' })),
  ),
  expiresAt: optional(doc(Instant, 'When the link stops working.')),
  failureReason: optional(ExportFailureReason),
  errorDetails: optional(Type.String()),
  retriable: optional(Type.Boolean()),
  deliveries: optional(arrayOf(ExportDelivery)),
});

export type ExportReceipt = Static<typeof ExportReceipt>;
export const ExportReceipt = object('ExportReceipt', 'The export is queued; nothing is lost by a restart.', {
  exportId: ExportId,
  status: JobStatus,
  progress: ExportProgress,
  requestedAt: Instant,
});
