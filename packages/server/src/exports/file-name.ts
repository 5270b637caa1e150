// What the file of an export is called where it is kept, and what it is.

import type { ExportCompression } from '@tallystick/contract';
import type { ExportRecord } from './export.ts';
import { FORMATS } from './formats/format.ts';

const PACKED: Readonly<Record<Exclude<ExportCompression, 'None'>, string>> = {
  Zip: 'application/zip',
  Gzip: 'application/gzip',
};

const NUMBER_DIGITS = 6;

type Kind = Pick<ExportRecord, 'format' | 'compression'>;

export function mediaTypeOf({ format, compression }: Kind): string {
  return compression === 'None' ? FORMATS[format].mediaType : PACKED[compression];
}

export function fileNameOf({
  tenantId,
  exportId,
  format,
  compression,
  schedule,
}: Kind & Pick<ExportRecord, 'tenantId' | 'exportId' | 'schedule'>): string {
  const { extension } = FORMATS[format];
  const ending = { None: extension, Gzip: `${extension}.gz`, Zip: 'zip' }[compression];
  // In the order of their numbers; another one of the same number takes no other's place.
  const number = schedule === undefined ? '' : `${String(schedule.number).padStart(NUMBER_DIGITS, '0')}-`;
  return `audit-${tenantId}-${number}${exportId}.${ending}`;
}
