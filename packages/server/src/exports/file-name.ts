// What the file of an export is called where it is kept, and what it is.

import type { ExportCompression } from '@tallystick/contract';
import type { ExportRecord } from './export.ts';
import { FORMATS } from './formats/format.ts';

const PACKED: Readonly<Record<Exclude<ExportCompression, 'None'>, string>> = {
  Zip: 'application/zip',
  Gzip: 'application/gzip',
};

type Kind = Pick<ExportRecord, 'format' | 'compression'>;

export function mediaTypeOf({ format, compression }: Kind): string {
  return compression === 'None' ? FORMATS[format].mediaType : PACKED[compression];
}

export function fileNameOf({
  tenantId,
  exportId,
  format,
  compression,
}: Kind & Pick<ExportRecord, 'tenantId' | 'exportId'>): string {
  const { extension } = FORMATS[format];
  const ending = { None: extension, Gzip: `${extension}.gz`, Zip: 'zip' }[compression];
  return `audit-${tenantId}-${exportId}.${ending}`;
}
