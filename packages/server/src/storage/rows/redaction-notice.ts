// Reads redaction notices. The table of redactions only leads from an event to its notices, and these decide, as with purges.

import {
  decodeEntry,
  EvidenceError,
  KINDS,
  type NoticePayload,
  parseJson,
  payloadFault,
} from '@tallystick/evidence';
import { blobOf, numberOf } from './columns.ts';
import { hasContent, type StoredContents, textsIn } from './stored-content.ts';

type Row = Readonly<Record<string, unknown>>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The units of one event that a notice says are deleted. */
export interface RedactedUnits {
  /** Of the event, in the tenant's sequence. */
  readonly index: number;
  readonly eventId: string;
  /** In base64. */
  readonly tags: readonly string[];
}

/** A redaction notice; indexes are those of the tenant's sequence. */
export interface Redaction extends RedactedUnits {
  readonly noticeIndex: number;
}

/**
 * What the text of a redaction notice names. Throws EvidenceError unless the event is before `endIndex`. `logFirstIndex` is
 * the first index of the log in the tenant's sequence.
 */
export function redactedUnits(
  text: Uint8Array,
  { logFirstIndex, endIndex }: { readonly logFirstIndex: number; readonly endIndex: number },
): RedactedUnits {
  const { payload } = parseJson(decoder.decode(text)) as { readonly payload?: unknown };
  const fault = payloadFault(KINDS.redaction, payload);
  if (fault !== undefined) throw new EvidenceError('NOTICE_INVALID', `a redaction notice ${fault}`);
  const { leafIndex, eventId, tags } = payload as NoticePayload<typeof KINDS.redaction>;
  const index = leafIndex + logFirstIndex;
  if (index >= endIndex)
    throw new EvidenceError(
      'NOTICE_INVALID',
      `a redaction notice names index ${leafIndex}, which is not before it`,
    );
  return { index, eventId, tags };
}

/**
 * Reads a row with the columns that stored-content.ts checks: undefined unless it is a redaction notice that matches its
 * hash.
 */
export function redactionIn(row: Row | undefined, contents: StoredContents): Redaction | undefined {
  if (row === undefined || contents.faultsOf([row])[0] !== undefined || !hasContent(row)) return undefined;
  const { kind, index } = decodeEntry(blobOf(row, 'entry'));
  if (kind !== KINDS.redaction) return undefined;
  const noticeIndex = numberOf(row, 'leaf_index');
  try {
    const bounds = { logFirstIndex: noticeIndex - index, endIndex: noticeIndex };
    return { noticeIndex, ...redactedUnits(textsIn(row)[1], bounds) };
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}
