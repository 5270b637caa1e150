// An event as the index reads it from a row of the log, whatever the database.

import type { TenantId } from '@tallystick/contract';
import { decodeEntry, type Group, isNotice, parseJson } from '@tallystick/evidence';
import type { Content, EventFields } from '../../events/show.ts';
import { decidedIn, type QueriedEvent } from '../../query/queried-event.ts';
import { instant } from '../../runtime/clock.ts';
import type { StoredEvent } from '../../streams/log.ts';
import { blobOf, readOr, textIn } from '../rows/columns.ts';
import { textWithoutUnits } from '../rows/punctured.ts';
import { redactionsNamedBy } from '../rows/removed-rows.ts';
import { isWithin } from '../rows/spans.ts';
import type { DeletedTags } from '../rows/stored-content.ts';
import type { LoggedEvent, Removal } from './store/segment-store.ts';

/**
 * Not looked into yet. The row has entry, tenant_id, stream_id, decided_by, and text1 and text2 as texts, null once they are
 * removed.
 */
export interface EventRow {
  /** In the tenant's sequence. */
  readonly index: number;
  readonly row: Readonly<Record<string, unknown>>;
  /** The units of it that notices say are deleted, whether they are still there or not. */
  readonly deletedTags?: DeletedTags | undefined;
}

/** The index of a row that tells none. */
export const NOWHERE = -1;

/** The whole event, as nobody but the index sees it; undefined where its content is removed. Throws if it is none. */
export function eventIn({ index, row, deletedTags }: EventRow): QueriedEvent | undefined {
  if (row['text1'] === null) return undefined;
  if (index === NOWHERE) throw new Error('it has no index');
  const { kind, eventId, receivedAtMs } = decodeEntry(blobOf(row, 'entry'));
  // The texts of a log are written by drafts alone, and have these members.
  const left = (text: string, group: Group) =>
    deletedTags === undefined ? text : textWithoutUnits(text, group, deletedTags);
  const facts = parseJson(left(textIn(row, 'text1'), 1)) as EventFields;
  const content = parseJson(left(textIn(row, 'text2'), 2)) as Content;
  // But somebody may have changed them.
  if (![facts, facts?.actor, facts?.resource, content].every(isObject) || typeof facts.timestamp !== 'string')
    throw new Error('the row holds no event');
  return {
    ...facts,
    ...content,
    eventId,
    tenantId: textIn(row, 'tenant_id'),
    kind: isNotice(kind) ? 'Notice' : 'Event',
    sequence: index + 1,
    receivedAt: instant(receivedAtMs),
    integrity: { streamId: textIn(row, 'stream_id') },
    ...decidedIn(row['decided_by']),
  };
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** The same of what was indexed before; undefined also where it has been changed since, so that it is no event any more. */
export function eventStillIn(row: EventRow): QueriedEvent | undefined {
  try {
    return eventIn(row);
  } catch {
    return undefined;
  }
}

/** The same of one that was read to be shown; undefined where nothing of it may be. */
export function eventOf(tenant: TenantId, stored: StoredEvent): QueriedEvent | undefined {
  const { index, entry, streamId, content } = stored;
  if (content === undefined || !('texts' in content)) return undefined;
  const [text1, text2] = content.texts;
  const row = { entry, text1, text2, tenant_id: tenant, stream_id: streamId, decided_by: content.decidedBy };
  return eventStillIn({ index, row });
}

/** Empty where somebody has changed it: no segment has such a leaf. */
export function leafIn(row: EventRow['row']): Uint8Array {
  return readOr(() => blobOf(row, 'leaf'), new Uint8Array(0));
}

/** An event as segments are made of it; `isRemoved`: a notice says so, which keeps its own content. */
export function loggedEvent(
  row: EventRow,
  { leaf, bytes }: Pick<LoggedEvent, 'leaf' | 'bytes'>,
  isRemoved: (index: number) => boolean,
): LoggedEvent {
  const { index } = row;
  try {
    const event = eventIn(row);
    return { index, leaf, bytes, event: event?.kind === 'Event' && isRemoved(index) ? undefined : event };
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    return { index, leaf, bytes, event: undefined, fault };
  }
}

/** Somebody has taken it out of the log: the index keeps its place. */
export function missingAt(index: number): LoggedEvent {
  return { index, leaf: new Uint8Array(0), event: undefined, bytes: 0 };
}

/** Whether any of the notices has removed an event, all of it. */
export function removedBy(removals: readonly Removal[]): (index: number) => boolean {
  const purges = removals.filter(({ units }) => units === undefined);
  return (index) => purges.some(({ spans }) => isWithin(spans, index));
}

/** The redaction notices that rows with the column `redaction_notices` name, each once. */
export function redactionsOf(rows: readonly EventRow[]): number[] {
  const named = new Set<number>();
  for (const { row } of rows) for (const index of redactionsNamedBy(row)) named.add(index);
  return [...named];
}

/** The same row, with the units that notices have removed; `removals` are those that any row names. */
export function withDeletedUnits<Row extends EventRow>(row: Row, removals: readonly Removal[]): Row {
  if (removals.length === 0) return row;
  const named = redactionsNamedBy(row.row);
  if (named.length === 0) return row;
  const eventId = readOr(() => decodeEntry(blobOf(row.row, 'entry')).eventId, undefined);
  const tags = removals
    .filter(({ noticeIndex, spans, units }) => {
      const isNamed = named.includes(noticeIndex) && spans[0]?.firstIndex === row.index;
      return isNamed && units?.eventId === eventId;
    })
    .flatMap(({ noticeIndex, units }) => units!.tags.map((tag): [string, number] => [tag, noticeIndex]));
  return tags.length === 0 ? row : Object.assign(row, { deletedTags: new Map(tags) });
}
