// A data directory of its own with its journal and its segments, in this process.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../../runtime/clock.ts';
import { createSystemRandom } from '../../../../runtime/random.ts';
import type { IndexBackend } from '../../../event-index/testing/open-index.ts';
import { openJournalForReading } from '../../connection/database.ts';
import { openSqliteStorage } from '../../sqlite-storage.ts';
import { JournalEvents } from '../journal-events.ts';
import { SegmentTables } from '../segment-tables.ts';
import { openViews, openViewsForReading } from '../views-database.ts';

const logOrigin = 'index.test';

export async function openSqliteIndex(): Promise<IndexBackend> {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-index-'));
  const storage = await openSqliteStorage({
    directory,
    logOrigin,
    streams: { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 },
    clock: systemClock,
    random: createSystemRandom(),
    threads: false,
    exclusive: true,
    onFatal: (error) => {
      throw error;
    },
  });
  const journal = openJournalForReading(directory);
  const { db } = openViews(directory);
  const views = openViewsForReading(directory);
  const parts = [new SegmentTables(db), new SegmentTables(views)].map((store) => ({
    store,
    log: new JournalEvents(journal, logOrigin, (tenant) => store.indexedTo(tenant)),
  }));
  return {
    storage,
    making: parts[0]!,
    searching: parts[1]!,
    async [Symbol.asyncDispose]() {
      views.close();
      db.close();
      journal.close();
      await storage[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    },
  };
}
