// How events become the text of a file. Each event is written by itself, so a file is made piece by piece, and its bytes depend on
// the events alone.

import type { AuditEvent, ExportFormat } from '@tallystick/contract';
import type { ContentPath } from '@tallystick/evidence';
import { CSV, csvWith } from './csv.ts';
import { JSON_ARRAY, JSON_LINES } from './json.ts';
import { XML } from './xml.ts';

export interface Format {
  readonly extension: string;
  readonly mediaType: string;
  /** What the file begins with, stands between two events, and ends with. */
  readonly begin: string;
  readonly between: string;
  readonly end: string;
  /** The paths of the fields, where each has a place of its own. */
  readonly columns?: readonly string[];
  readonly write: (event: AuditEvent) => string;
  /** The same from the JSON text of the event, where the format is made of it. */
  readonly writeText?: (json: string) => string;
}

export const FORMATS: Readonly<Record<ExportFormat, Format>> = {
  JSON: JSON_ARRAY,
  NDJSON: JSON_LINES,
  CSV,
  XML,
};

/** Of CSV, with a column for each of these values behind the others. */
export function formatOf(name: ExportFormat, contentColumns: readonly ContentPath[]): Format {
  return contentColumns.length === 0 ? FORMATS[name] : csvWith(contentColumns);
}
