// Removing content, the counterpart of append: the port through which content goes from the store. Which content is gone is
// written in the log, by purge notices, and nowhere else; what the store keeps beside them (`Deletion`) follows from them and
// only tells where to look. Nothing goes under a notice that is not signed: an intruder who can delete rows can append a
// notice too.

import type { TenantId } from '@tallystick/contract';

/** A part of a tenant's sequence; `endIndex` is the first outside. */
export interface IndexSpan {
  readonly firstIndex: number;
  readonly endIndex: number;
}

/** A span whose content is removed, or is being removed, under a notice. No two of a tenant overlap. */
export interface Deletion extends IndexSpan {
  readonly noticeIndex: number;
}

export interface RemovalStore {
  /** Those that overlap the span, in order: so many of the first of them. */
  deletions(tenant: TenantId, span: IndexSpan, limit: number): Promise<Deletion[]>;
  /** How many events of the spans have their content. */
  countContents(tenant: TenantId, spans: readonly IndexSpan[]): Promise<number>;
  /**
   * Deletes a portion of the content that the purge notice at this index names, from an index on; entries, group roots and
   * notices stay. Gives the index to go on from; undefined at the end. To ask again for what is deleted already changes
   * nothing. Rejects, and deletes nothing, unless a stored checkpoint covers the notice, and the notice is what was hashed.
   */
  deleteContents(tenant: TenantId, noticeIndex: number, fromIndex: number): Promise<number | undefined>;
}
