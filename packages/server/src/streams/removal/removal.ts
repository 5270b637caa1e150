// The port that removes content, the counterpart of append. Only the purge notices in the log decide which content is
// gone; the rows that the store keeps besides (`Deletion`) follow from them and only tell where to look. Nothing is
// removed under an unsigned notice: an intruder who can delete rows can append a notice too.

import type { TenantId } from '@tallystick/contract';

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

export interface RemovalStore {
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
