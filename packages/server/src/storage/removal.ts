// Removes content on any backend: exactly what a purge or redaction notice names, read from the log and compared with
// its hashes, and only once a checkpoint covers the notice. A row that leads to a notice is not enough: an intruder who can
// add rows must not be able to have content deleted.

import type { TenantId } from '@tallystick/contract';
import type { IndexSpan, RemovalStore } from '../streams/removal/removal.ts';
import type { TreesWith } from '../streams/tree.ts';
import type { Purge } from './rows/purge-notice.ts';
import type { Redaction } from './rows/redaction-notice.ts';

/** The part that each backend implements. */
export interface RemovalTables extends Omit<RemovalStore, 'deleteContents' | 'deleteUnits'> {
  /** Undefined unless there is a purge notice at this index that matches its hash. */
  purge(tenant: TenantId, noticeIndex: number): Promise<Purge | undefined>;
  /** Deletes the content of all events in the spans, in one commit. */
  deleteContents(tenant: TenantId, spans: readonly IndexSpan[]): Promise<void>;
  /** Those of the entries at these indexes that are redaction notices and match their hashes. */
  redactions(tenant: TenantId, noticeIndexes: readonly number[]): Promise<readonly Redaction[]>;
  /** Rewrites the contents of the events without the units that the redactions name, in one commit. */
  punctureContents(tenant: TenantId, redactions: readonly Redaction[]): Promise<void>;
}

/** The number of entries per commit: no append waits long for it. */
const DELETED = 1000;
/** The number of entries per query, some ten milliseconds: others ask the same thread. */
const COUNTED = 5000;
/** The number of events per commit whose units are deleted: each is read and hashed. */
const PUNCTURED = 100;

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
    async deleteUnits(tenant, noticeIndexes) {
      for (let from = 0; from < noticeIndexes.length; from += PUNCTURED) {
        const named = noticeIndexes.slice(from, from + PUNCTURED);
        const redactions = await tables.redactions(tenant, named);
        for (const noticeIndex of named) {
          if (!redactions.some((found) => found.noticeIndex === noticeIndex))
            throw new Error(`entry ${noticeIndex} of ${tenant} is not a redaction notice`);
        }
        await requireSigned(tenant, Math.min(...named), Math.max(...named), trees);
        await tables.punctureContents(tenant, redactions);
      }
    },
  };
}

/** Notices of a tenant, from the first to the last, may be of two logs. */
async function requireSigned(
  tenant: TenantId,
  firstNotice: number,
  lastNotice: number,
  trees: TreesWith<'head'>,
): Promise<void> {
  for (const noticeIndex of new Set([firstNotice, lastNotice])) {
    const log = await trees.forTenant(tenant).head(noticeIndex);
    if (noticeIndex - log!.firstIndex >= (log!.latest?.size ?? 0))
      throw new Error(`no checkpoint of ${tenant} covers the redaction notice ${noticeIndex} yet`);
  }
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
