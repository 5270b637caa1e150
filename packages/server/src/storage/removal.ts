// Removing content, whatever the database: what goes is what a purge notice says, read from the log and held against its hashes,
// and only once a checkpoint covers that notice. A row of deletions is not enough: an intruder who can add rows must
// not be able to have content deleted.

import type { TenantId } from '@tallystick/contract';
import type { IndexSpan, RemovalStore } from '../streams/removal/removal.ts';
import type { TreesWith } from '../streams/tree.ts';
import type { Purge } from './rows/purge-notice.ts';

/** What each backend does in its own way. */
export interface RemovalTables extends Pick<RemovalStore, 'deletions' | 'countContents'> {
  /** Undefined unless there is a purge notice at this index, and it is what was hashed. */
  purge(tenant: TenantId, noticeIndex: number): Promise<Purge | undefined>;
  /** Those of the events of the spans, in one commit. */
  deleteContents(tenant: TenantId, spans: readonly IndexSpan[]): Promise<void>;
}

/** So many entries are gone through in one commit: no append waits long for it. */
const DELETED = 1000;
/** And so many in one question, which takes a fraction of a second. */
const COUNTED = 50_000;

export function removalOn(tables: RemovalTables, trees: TreesWith<'head'>): RemovalStore {
  return {
    deletions: tables.deletions,
    async countContents(tenant, spans) {
      let count = 0;
      for (let from: number | undefined = 0; from !== undefined; ) {
        const portion = portionOf(spans, from, COUNTED);
        if (portion.length > 0) count += await tables.countContents(tenant, portion);
        from = portion.at(-1)?.endIndex;
      }
      return count;
    },
    async deleteContents(tenant, noticeIndex, fromIndex) {
      const [purge, log] = await Promise.all([
        tables.purge(tenant, noticeIndex),
        trees.forTenant(tenant).head(noticeIndex),
      ]);
      if (purge === undefined) throw new Error(`entry ${noticeIndex} of ${tenant} is no purge notice`);
      if (noticeIndex - log!.firstIndex >= (log!.latest?.size ?? 0))
        throw new Error(`no checkpoint of ${tenant} covers the purge notice ${noticeIndex} yet`);
      const portion = portionOf(purge.spans, fromIndex, DELETED);
      if (portion.length > 0) await tables.deleteContents(tenant, portion);
      return portion.at(-1)?.endIndex;
    },
  };
}

/** So many entries of the spans, from an index on; none at the end. */
function portionOf(spans: readonly IndexSpan[], fromIndex: number, entries: number): IndexSpan[] {
  const portion: IndexSpan[] = [];
  let left = entries;
  for (const span of spans) {
    if (left === 0) break;
    const firstIndex = Math.max(span.firstIndex, fromIndex);
    if (firstIndex >= span.endIndex) continue;
    const endIndex = Math.min(span.endIndex, firstIndex + left);
    portion.push({ firstIndex, endIndex });
    left -= endIndex - firstIndex;
  }
  return portion;
}
