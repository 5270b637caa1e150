// Takes out of the rows of events what notices of the log say is removed, whether it is still there or not. The tables of
// deletions and redactions only lead from an event to its notices, and the notices decide: otherwise an intruder who can add
// a row to one of them could hide any event.

import { decodeEntry, EvidenceError, KIND_AT, KINDS } from '@tallystick/evidence';
import type { Purged } from '../../streams/log.ts';
import { blobOf, numberOf, readOr } from './columns.ts';
import { type Purge, purgeIn } from './purge-notice.ts';
import { puncture, unitColumnsIn } from './punctured.ts';
import { type Redaction, redactionIn } from './redaction-notice.ts';
import type { SealedRows } from '../sealing/sealed-rows.ts';
import { isWithin } from './spans.ts';
import { type DeletedTags, hasContent, type StoredContents, withDeletedTags } from './stored-content.ts';

type Row = Readonly<Record<string, unknown>>;

/** The indexes of the notices that may be about rows with the columns `notice_index` and `redaction_notices`, each once. */
export function noticesNamedBy(rows: readonly Row[]): number[] {
  const named = new Set<number>();
  for (const row of rows) {
    const index = purgeNamedBy(row);
    if (index !== undefined) named.add(index);
    for (const each of redactionsNamedBy(row)) named.add(each);
  }
  return [...named];
}

/** The same rows, opened, without what the notices say is removed. `notices` are rows, too. */
export function withoutRemoved(
  rows: readonly Row[],
  notices: readonly (Row | undefined)[],
  contents: StoredContents,
  sealed: SealedRows,
): readonly Row[] {
  if (notices.length === 0) return rows.map((row) => sealed.open(row));
  const purges = new Map<number, Purge>();
  const redactions = new Map<number, Redaction>();
  for (const row of notices) {
    const purge = purgeIn(row, contents);
    if (purge !== undefined) purges.set(purge.noticeIndex, purge);
    const redaction = purge === undefined ? redactionIn(row, contents) : undefined;
    if (redaction !== undefined) redactions.set(redaction.noticeIndex, redaction);
  }
  return rows.map((row) => {
    const index = readOr(() => numberOf(row, 'leaf_index'), -1);
    const purge = purges.get(purgeNamedBy(row) ?? -1);
    if (purge !== undefined && isWithin(purge.spans, index)) return purgedRow(row, purge);
    const tags = new Map<string, number>();
    for (const noticeIndex of redactionsNamedBy(row)) {
      const redaction = redactions.get(noticeIndex);
      if (redaction?.index !== index || !isOf(row, redaction)) continue;
      for (const tag of redaction.tags) if (!tags.has(tag)) tags.set(tag, noticeIndex);
    }
    const opened = sealed.open(row);
    return tags.size === 0 ? opened : redactedRow(opened, tags);
  });
}

/** Reads a row of `withoutRemoved`. */
export function purgedIn(row: Row): Purged | undefined {
  return row['purged'] as Purged | undefined;
}

function purgedRow(row: Row, { noticeIndex, purgedAtMs }: Purge): Row {
  const purged: Purged = { noticeIndex, purgedAtMs, isDeleted: !hasContent(row) };
  const nothing = { content_id: null, key_id: null, text1: null, text2: null, seeds: null, closed: null };
  return { ...row, ...nothing, purged };
}

/** A content that is none stays as it is: it does not match its hash either. */
function redactedRow(row: Row, tags: DeletedTags): Row {
  if (!hasContent(row)) return row;
  try {
    const { closed = null, ...left } = puncture(unitColumnsIn(row), new Set(tags.keys()));
    return withDeletedTags({ ...row, ...left, closed }, tags);
  } catch (error) {
    if (error instanceof EvidenceError) return row;
    throw error;
  }
}

function isOf(row: Row, { eventId }: Redaction): boolean {
  return readOr(() => decodeEntry(blobOf(row, 'entry')).eventId, undefined) === eventId;
}

/** Whether any notice may have removed something of a row with these columns. */
export function isRemovedFrom(row: Row): boolean {
  return row['notice_index'] !== null || row['redaction_notices'] !== null;
}

/** Undefined for notices: they keep their content in every range. */
function purgeNamedBy(row: Row): number | undefined {
  const index = row['notice_index'];
  if (index === null || index === undefined) return undefined;
  if (readOr(() => blobOf(row, 'entry'), undefined)?.[KIND_AT] !== KINDS.event) return undefined;
  return readOr(() => numberOf(row, 'notice_index'), undefined);
}

const NONE: readonly number[] = [];

/** In the column they stand one behind the other, with commas. */
export function redactionsNamedBy(row: Row): readonly number[] {
  const named = row['redaction_notices'];
  if (typeof named !== 'string') return NONE;
  if (readOr(() => blobOf(row, 'entry'), undefined)?.[KIND_AT] !== KINDS.event) return NONE;
  return named.split(',').map(Number).filter(Number.isSafeInteger);
}
