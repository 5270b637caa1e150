// Reads purge notices, and marks the rows of events that they cover. The table of deletions only leads from an event to its
// notice, and the notice decides: otherwise an intruder who can add a row to that table could hide any event.

import {
  decodeEntry,
  EvidenceError,
  KIND_AT,
  KINDS,
  type NoticePayload,
  parseJson,
  payloadFault,
} from '@tallystick/evidence';
import type { Purged } from '../../streams/log.ts';
import type { IndexSpan } from '../../streams/removal/removal.ts';
import { blobOf, numberOf, readOr } from './columns.ts';
import { isWithin } from './spans.ts';
import { hasContent, type StoredContents, textsIn } from './stored-content.ts';

type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** A purge notice; indexes are those of the tenant's sequence. */
export interface Purge extends Omit<Purged, 'isDeleted'> {
  readonly spans: readonly IndexSpan[];
}

/**
 * The spans that the text of a purge notice names, in order. Throws EvidenceError unless all are before `endIndex`.
 * `logFirstIndex` is the first index of the log in the tenant's sequence.
 */
export function purgedSpans(
  text: Uint8Array,
  { logFirstIndex, endIndex }: { readonly logFirstIndex: number; readonly endIndex: number },
): IndexSpan[] {
  const { payload } = parseJson(decoder.decode(text)) as { readonly payload?: unknown };
  const fault = payloadFault(KINDS.purge, payload);
  if (fault !== undefined) throw new EvidenceError('NOTICE_INVALID', `a purge notice ${fault}`);
  let end = logFirstIndex;
  return (payload as NoticePayload<typeof KINDS.purge>).ranges.map(([from, to]) => {
    const span = { firstIndex: from + logFirstIndex, endIndex: to + logFirstIndex };
    if (span.firstIndex < end || to <= from || span.endIndex > endIndex)
      throw new EvidenceError('NOTICE_INVALID', `a purge notice has the range [${from}, ${to}) out of order`);
    end = span.endIndex;
    return span;
  });
}

/**
 * Reads a row with the columns that stored-content.ts checks: undefined unless it is a purge notice that matches its
 * hash.
 */
export function purgeIn(row: Row | undefined, contents: StoredContents): Purge | undefined {
  if (row === undefined || contents.faultsOf([row])[0] !== undefined || !hasContent(row)) return undefined;
  const { kind, index, receivedAtMs } = decodeEntry(blobOf(row, 'entry'));
  if (kind !== KINDS.purge) return undefined;
  const noticeIndex = numberOf(row, 'leaf_index');
  try {
    const bounds = { logFirstIndex: noticeIndex - index, endIndex: noticeIndex };
    return { noticeIndex, purgedAtMs: receivedAtMs, spans: purgedSpans(textsIn(row)[1], bounds) };
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}

/** The indexes of the notices that may cover rows with the column `notice_index`, each once. */
export function noticesNamedBy(rows: readonly Row[]): number[] {
  const named = new Set<number>();
  for (const row of rows) {
    const index = noticeNamedBy(row);
    if (index !== undefined) named.add(index);
  }
  return [...named];
}

/** The same rows; those that a notice covers are marked, and lose their content. `notices` are rows, too. */
export function withoutPurged(
  rows: readonly Row[],
  notices: readonly (Row | undefined)[],
  contents: StoredContents,
): readonly Row[] {
  const byNotice = new Map<number, Purge>();
  for (const notice of notices) {
    const purge = purgeIn(notice, contents);
    if (purge !== undefined) byNotice.set(purge.noticeIndex, purge);
  }
  if (byNotice.size === 0) return rows;
  return rows.map((row) => {
    const purge = byNotice.get(noticeNamedBy(row) ?? -1);
    const index = readOr(() => numberOf(row, 'leaf_index'), -1);
    if (purge === undefined || !isWithin(purge.spans, index)) return row;
    const { noticeIndex, purgedAtMs } = purge;
    const purged: Purged = { noticeIndex, purgedAtMs, isDeleted: !hasContent(row) };
    return { ...row, content_id: null, key_id: null, text1: null, text2: null, seeds: null, purged };
  });
}

/** Reads a row of `withoutPurged`. */
export function purgedIn(row: Row): Purged | undefined {
  return row['purged'] as Purged | undefined;
}

/** Undefined for notices: they keep their content in every range. */
function noticeNamedBy(row: Row): number | undefined {
  const index = row['notice_index'];
  if (index === null || index === undefined) return undefined;
  if (readOr(() => blobOf(row, 'entry'), undefined)?.[KIND_AT] !== KINDS.event) return undefined;
  return readOr(() => numberOf(row, 'notice_index'), undefined);
}
