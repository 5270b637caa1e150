// The port that removes content, the counterpart of append. Only the purge notices in the log decide which content is
// gone; the rows that the store keeps besides (`Deletion`) follow from them and only tell where to look. Nothing is
// removed under an unsigned notice: an intruder who can delete rows can append a notice too.

import type { TenantId } from '@tallystick/contract';

/** The number of entries that one statement looks at for expired content: some ten milliseconds. */
export const EXPIRY_SPAN = 5000;

/** A part of a tenant's sequence; `endIndex` is exclusive. */
export interface IndexSpan {
  readonly firstIndex: number;
  readonly endIndex: number;
}

/** A span whose content is removed, or is being removed, under a notice. Spans of a tenant do not overlap. */
export interface Deletion extends IndexSpan {
  readonly noticeIndex: number;
}

/** An event of which a notice says that single units are removed. */
export interface RedactedEvent {
  /** Of the event, in the tenant's sequence. */
  readonly index: number;
  readonly noticeIndex: number;
}

/** Consecutive events of one decision whose content has expired. */
export interface ExpiredRun extends IndexSpan {
  /** What has decided their retention (policies/decided-by.ts); undefined: the tenant's settings. */
  readonly decidedBy: string | undefined;
}

/** Where in a stream there is expired content. */
export interface DueStream {
  readonly tenant: TenantId;
  /** Of the stream. */
  readonly streamFirstIndex: number;
  /** From the first expired event of the stream to the last one. */
  readonly span: IndexSpan;
}

export interface DuePortion {
  readonly due: readonly DueStream[];
  /** Where the next portion begins; undefined: nothing is left. A stream may be in several portions. */
  readonly next: string | undefined;
}

export interface RemovalStore {
  /** The store's own clock; undefined if it has none but that of this process. */
  nowMs(): Promise<number | undefined>;
  /** A portion of the streams with content that expired by `untilMs`, in the logs that this node looks after. */
  dueStreams(untilMs: number, from: string | undefined): Promise<DuePortion>;
  /** Outside of this span nothing of the tenant's log expires by `untilMs`; undefined: nothing does. */
  expirySpan(tenant: TenantId, untilMs: number): Promise<IndexSpan | undefined>;
  /**
   * What of a span expired by `untilMs` and is still there, in order, also if a notice names it already. One statement looks
   * at the whole span, so spans are limited to `EXPIRY_SPAN`.
   */
  expired(tenant: TenantId, span: IndexSpan, untilMs: number): Promise<ExpiredRun[]>;
  /** Marks a stream that has no event with content left; only a sealed one, which never gets any again. */
  markPurged(tenant: TenantId, streamFirstIndex: number, nowMs: number): Promise<void>;
  /** Gives a portion of the freed space back to the file system; true if there may be more. */
  reclaimSpace(nowMs: number): Promise<boolean>;
  /** The first `limit` deletions that overlap the span, in order. */
  deletions(tenant: TenantId, span: IndexSpan, limit: number): Promise<Deletion[]>;
  /** The number of events in the spans that have their content. */
  countContents(tenant: TenantId, spans: readonly IndexSpan[]): Promise<number>;
  /**
   * Deletes a portion of the content that the purge notice at this index names, from an index on; entries, group roots
   * and notices stay. Returns the index to continue from; undefined at the end. A repeat changes nothing. Rejects, and
   * deletes nothing, unless a stored checkpoint covers the notice and the notice matches its hash.
   */
  deleteContents(tenant: TenantId, noticeIndex: number, fromIndex: number): Promise<number | undefined>;
  /**
   * Deletes the units that the redaction notices at these indexes name; what is left of their events stays provable. A
   * repeat changes nothing. Rejects, and deletes nothing, unless a stored checkpoint covers each notice and each matches its
   * hash.
   */
  deleteUnits(tenant: TenantId, noticeIndexes: readonly number[]): Promise<void>;
  /** Leaves nothing of what was deleted in files that the store keeps besides its tables, as far as it has any. */
  eraseTraces(): Promise<void>;
}
