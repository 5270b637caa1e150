// CSV (RFC 4180): a header, then a row for each event, with a column for each field by its path. A cell that a spreadsheet would take
// for a formula gets an apostrophe before it, and so does one that begins with an apostrophe: who removes the first apostrophe
// of each cell has what was there. Columns for single values of context and payload stand behind the others.

import type { AuditEvent } from '@tallystick/contract';
import { columnName, contentCell, type ContentPath } from '@tallystick/evidence';
import { readWritten, writeJson } from '../../written-json.ts';
import type { Format } from './format.ts';

type Cell = string | number | boolean | undefined;

/** In this order. What an event does not have is an empty cell. */
const COLUMNS: readonly (readonly [path: string, of: (event: AuditEvent) => Cell])[] = [
  ['eventId', ({ eventId }) => eventId],
  ['tenantId', ({ tenantId }) => tenantId],
  ['kind', ({ kind }) => kind],
  ['sequence', ({ sequence }) => sequence],
  ['timestamp', ({ timestamp }) => timestamp],
  ['receivedAt', ({ receivedAt }) => receivedAt],
  ['correlationId', ({ correlationId }) => correlationId],
  ['actor.actorType', ({ actor }) => actor.actorType],
  ['actor.userId', ({ actor }) => actor.userId],
  ['actor.userName', ({ actor }) => actor.userName],
  ['actor.serviceId', ({ actor }) => actor.serviceId],
  ['actor.serviceName', ({ actor }) => actor.serviceName],
  ['action', ({ action }) => action],
  ['resource.resourceType', ({ resource }) => resource.resourceType],
  ['resource.resourceId', ({ resource }) => resource.resourceId],
  ['resource.resourceName', ({ resource }) => resource.resourceName],
  ['classification', ({ classification }) => classification],
  ['outcome', ({ outcome }) => outcome],
  ['context', ({ context }) => context && writeJson(context)],
  ['payload', ({ payload }) => payload && writeJson(payload)],
  ['submittedBy', ({ submittedBy }) => submittedBy],
  ['redaction.fields', ({ redaction }) => redaction && JSON.stringify(redaction.fields)],
  ['redaction.reason', ({ redaction }) => redaction?.reason],
  ['retention.policyId', ({ retention }) => retention?.policyId],
  ['retention.expiresAt', ({ retention }) => retention?.expiresAt],
  ['retention.legalHold', ({ retention }) => retention?.legalHold],
  ['integrity.streamId', ({ integrity }) => integrity.streamId],
  ['integrity.leafIndex', ({ integrity }) => integrity.leafIndex],
  ['integrity.leafHash', ({ integrity }) => integrity.leafHash],
  ['integrity.previousHash', ({ integrity }) => integrity.previousHash],
  ['integrity.status', ({ integrity }) => integrity.status],
];

const LINE_END = '\r\n';
/** What a spreadsheet takes for the beginning of a formula, and the mark itself. */
const TO_MARK = /^[=+\-@\t\r']/;
const TO_QUOTE = /[",\r\n]/;

export const CSV: Format = csvWith([]);

export function csvWith(contentColumns: readonly ContentPath[]): Format {
  const columns = [...COLUMNS.map(([path]) => path), ...contentColumns.map(columnName)];
  const contentCells = ({ context, payload }: AuditEvent): string[] => {
    if (contentColumns.length === 0) return [];
    const content = { context: context && readWritten(context), payload: payload && readWritten(payload) };
    return contentColumns.map((path) => contentCell(content[path[0]], path));
  };
  return {
    extension: 'csv',
    mediaType: 'text/csv; charset=utf-8',
    columns,
    begin: columns.map(cell).join(',') + LINE_END,
    between: '',
    end: '',
    write(event) {
      const cells = [...COLUMNS.map(([, of]) => of(event)), ...contentCells(event)];
      return cells.map(cell).join(',') + LINE_END;
    },
  };
}

function cell(value: Cell): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const text = TO_MARK.test(value) ? `'${value}` : value;
  return TO_QUOTE.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
