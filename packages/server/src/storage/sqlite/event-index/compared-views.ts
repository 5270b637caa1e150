// views.db for a verification that must not write any file, in one state that is no newer than that of the journal: it is read
// first, and the log only grows.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { ComparedIndex } from '../../event-index/store/compare.ts';
import { openAtRestOr } from '../connection/journal-at-rest.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import { JournalEvents } from './journal-events.ts';
import { SegmentTables } from './segment-tables.ts';
import { faultOf, openViewsForReading, VIEWS_FILE } from './views-database.ts';

export interface ComparedViews extends Disposable {
  /** Why they cannot be compared; undefined: they can. */
  readonly whyNot: string | undefined;
  over(journal: DatabaseSync, logOrigin: string, sealed: SealedRows): ComparedIndex;
  /** Throws StartError if they were at rest and were written to. */
  requireUnchanged(): void;
}

export function openComparedViews(directory: string): ComparedViews {
  const path = join(directory, VIEWS_FILE);
  if (!existsSync(path)) return unusable('there is none: the service makes it when it starts');
  using parts = new DisposableStack();
  try {
    const views = parts.use(openAtRestOr(path, (open) => openViewsForReading(directory, open)));
    views.db.exec('BEGIN');
    const fault = faultOf(views.db);
    if (fault !== undefined) return unusable(`${fault}: the service makes another one when it starts`);
    const held = parts.move();
    return {
      whyNot: undefined,
      over(journal, logOrigin, sealed) {
        const store = new SegmentTables(views.db);
        return {
          store,
          log: new JournalEvents(journal, logOrigin, (tenant) => store.indexedTo(tenant), sealed),
        };
      },
      requireUnchanged: () => views.requireUnchanged(),
      [Symbol.dispose]: () => held.dispose(),
    };
  } catch (error) {
    return unusable(unreadable(error));
  }
}

export function unreadable(error: unknown): string {
  return `${VIEWS_FILE} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}

function unusable(whyNot: string): ComparedViews {
  return {
    whyNot,
    over() {
      throw new Error(whyNot);
    },
    requireUnchanged() {},
    [Symbol.dispose]() {},
  };
}
