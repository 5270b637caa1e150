// Reads purge notices: which events of a log have lost their content.

import {
  decodeEntry,
  EvidenceError,
  KINDS,
  type NoticePayload,
  parseJson,
  payloadFault,
} from '@tallystick/evidence';
import type { Purged } from '../../streams/log.ts';
import type { IndexSpan } from '../../streams/removal/removal.ts';
import { blobOf, numberOf } from './columns.ts';
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
