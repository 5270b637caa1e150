// Removes content on any backend: exactly the content that a purge notice names, read from the log and compared with
// its hashes, and only once a checkpoint covers the notice. A deletions row is not enough: an intruder who can add rows
// must not be able to have content deleted.

import type { TenantId } from '@tallystick/contract';
import type { IndexSpan, RemovalStore } from '../streams/removal/removal.ts';
import type { TreesWith } from '../streams/tree.ts';
import type { Purge } from './rows/purge-notice.ts';

/** The part that each backend implements. */
export interface RemovalTables extends Omit<RemovalStore, 'deleteContents'> {
  /** Undefined unless there is a purge notice at this index that matches its hash. */
  purge(tenant: TenantId, noticeIndex: number): Promise<Purge | undefined>;
  /** Deletes the content of all events in the spans, in one commit. */
  deleteContents(tenant: TenantId, spans: readonly IndexSpan[]): Promise<void>;
}

/** The number of entries per commit: no append waits long for it. */
const DELETED = 1000;
/** The number of entries per query, some ten milliseconds: others ask the same thread. */
const COUNTED = 5000;

export function removalOn(tables: RemovalTables, trees: TreesWith<'head'>): RemovalStore {
  return {
    ...tables,
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
      if (purge === undefined) throw new Error(`entry ${noticeIndex} of ${tenant} is not a purge notice`);
      if (noticeIndex - log!.firstIndex >= (log!.latest?.size ?? 0))
        throw new Error(`no checkpoint of ${tenant} covers the purge notice ${noticeIndex} yet`);
      const portion = portionOf(purge.spans, fromIndex, DELETED);
      if (portion.length > 0) await tables.deleteContents(tenant, portion);
      return portion.at(-1)?.endIndex;
    },
  };
}

/** At most this number of entries of the spans, from an index on; none at the end. */
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
