// What the removal of expired content rests on, read back from the log: events, and the notices of changed records. Both are held
// against their hashes, and these against the newest signed checkpoint, so that no column of the store is believed.

import type { Classification } from '@tallystick/contract';
import type { Reason } from '@tallystick/evidence';
import type { IndexSpan } from './removal.ts';

/** An event whose content leads to the entry that was signed. Indexes are those of the tenant's sequence. */
export interface ProvenContent {
  readonly index: number;
  readonly receivedAtMs: number;
  readonly classification: Classification;
  /** Empty where they were not asked for. */
  readonly texts: readonly [Uint8Array, Uint8Array];
  /** Nothing of its texts is deleted. */
  readonly isWhole: boolean;
  /** As its row says: no hash covers it. */
  readonly expiresAtMs: number | undefined;
}

/** An entry that differs from the one that was signed, or a content that differs from its entry. */
export interface UnprovenEntry {
  readonly index: number;
  readonly reason: Reason;
  readonly message: string;
}

export interface ContentsRequest {
  /** In order, and in one log. */
  readonly spans: readonly IndexSpan[];
  /** One of these keys must have signed the checkpoint. */
  readonly publicKeys: readonly Uint8Array[];
  /** No text is read, nor held against its entry: what the entry says is enough for the caller. */
  readonly isWithoutTexts?: boolean;
}

export interface ContentsPortion {
  readonly contents: readonly ProvenContent[];
  readonly unproven: readonly UnprovenEntry[];
  /** All events of the spans before it were looked at. */
  readonly nextIndex: number;
}

/** A notice that commits to a version of a record. */
export interface RecordNotice {
  readonly index: number;
  readonly receivedAtMs: number;
  readonly kind: string;
  readonly id: string;
  /** In base64; undefined for a notice that cannot be read: it may be about any record of the kind. */
  readonly commitment: string | undefined;
}

export interface NoticesRequest {
  readonly fromIndex: number;
  readonly publicKeys: readonly Uint8Array[];
}

export interface NoticesPortion {
  readonly notices: readonly RecordNotice[];
  readonly unproven: readonly UnprovenEntry[];
  readonly nextIndex: number;
  /** Nothing behind it is signed yet. */
  readonly isEnd: boolean;
}
