// Gives pages that deleted content has left back to the file system, few at a time: each step is a commit of its own between
// the appends. The last pages of the file are moved to where pages are free, and the file ends earlier once that is folded in.

import type { DatabaseSync } from 'node:sqlite';
import { numberOf } from '../../rows/columns.ts';

/** So many stay in the file: new events need some soon. */
export const FREE_PAGES_KEPT = 256;
/** A megabyte: an append waits for it as for a commit of its own size. */
const PAGES_AT_ONCE = 64;

/** True if there may be more. */
export function freePages(db: DatabaseSync): boolean {
  const free = numberOf(db.prepare('PRAGMA freelist_count').get(), 'freelist_count');
  if (free <= FREE_PAGES_KEPT) return false;
  db.exec(`PRAGMA incremental_vacuum(${Math.min(PAGES_AT_ONCE, free - FREE_PAGES_KEPT)})`);
  return free > FREE_PAGES_KEPT + PAGES_AT_ONCE;
}
