// Exports as tables for people.

import type { Export } from '@tallystick/contract';
import type { Columns } from '../output/table.ts';

export const EXPORT_COLUMNS: Columns<Export> = {
  'EXPORT ID': ({ exportId }) => exportId,
  NAME: ({ name }) => name,
  STATUS: ({ status, failureReason }) =>
    failureReason === undefined ? status : `${status}: ${failureReason}`,
  FORMAT: ({ format, compression }) => (compression === 'None' ? format : `${format}, ${compression}`),
  EVENTS: ({ eventCount }) => eventCount?.toString(),
  BYTES: ({ fileSize }) => fileSize?.toString(),
  REQUESTED: ({ requestedAt }) => requestedAt,
};

/** One export, a line for each member that people ask for. */
export function exportRows(one: Export): readonly (readonly [title: string, value: string])[] {
  const { status, progress, eventCount, fileSize, checksum, failureReason, errorDetails, retriable } = one;
  const rows: [string, string | undefined][] = [
    ['export id', one.exportId],
    ['name', one.name],
    ['status', status],
    ['progress', status === 'Processing' ? shownProgress(progress) : undefined],
    ['format', one.compression === 'None' ? one.format : `${one.format}, ${one.compression}`],
    ['requested', `${one.requestedAt} by ${one.requestedBy}`],
    ['completed', one.completedAt],
    ['events', eventCount?.toString()],
    ['bytes', fileSize?.toString()],
    ['checksum', checksum],
    ['failure', failureReason === undefined ? undefined : `${failureReason}: ${errorDetails ?? ''}`],
    ['retriable', retriable?.toString()],
  ];
  return rows.flatMap(([title, value]) => (value === undefined ? [] : [[title, value] as const]));
}

function shownProgress({ percent, processedEvents, totalEvents, ...pace }: Export['progress']): string {
  const { eventsPerSecond, estimatedCompletionAt } = pace;
  const all = totalEvents === undefined ? '' : ` of ${totalEvents}`;
  return [
    `${percent} %`,
    `${processedEvents}${all} events`,
    ...(eventsPerSecond === undefined ? [] : [`${eventsPerSecond} a second`]),
    ...(estimatedCompletionAt === undefined ? [] : [`done about ${estimatedCompletionAt}`]),
  ].join(', ');
}
