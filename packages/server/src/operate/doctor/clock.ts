// The clock of this machine against that of the database; and against the files of an embedded store, which were not written in the future.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { clockOffsetMs } from '../../admin/clock-watch.ts';
import { databaseUrls } from '../../config/database-urls.ts';
import type { Config } from '../../config/settings.ts';
import { systemClock } from '../../runtime/clock.ts';
import { JOURNAL_FILE } from '../../storage/sqlite/connection/database.ts';
import type { Examined } from './examined.ts';

const TIME_SERVICE = 'have a time service (NTP) set the clock';

export async function examineClock(config: Config): Promise<Examined> {
  const most = config.health.clockOffsetMax.ms;
  const urls = databaseUrls(config.storage);
  if (urls === undefined) {
    const aheadMs = lastWriteMs(join(config.storage.dataDirectory, JOURNAL_FILE)) - systemClock.now();
    if (aheadMs <= most) return { problems: [] };
    const what = `the log was written ${Math.round(aheadMs / 1000)} s in the future of this clock`;
    return { problems: [{ what, remedy: TIME_SERVICE }] };
  }
  const { databaseNowMs } = await import('../../storage/postgres/examine-database.ts');
  const [beganMs, beganNs] = [systemClock.now(), systemClock.monotonicNs()];
  const storeMs = await databaseNowMs(urls);
  const tookMs = (systemClock.monotonicNs() - beganNs) / 1e6;
  const offset = clockOffsetMs({ storeMs, beganMs, tookMs });
  const measured = `${offset} ms from the database`;
  if (Math.abs(offset) <= most) return { problems: [], measured };
  const what = `the clock is ${Math.abs(offset) / 1000} s ${offset > 0 ? 'ahead of' : 'behind'} that of the database; limit ${most / 1000} s`;
  return { problems: [{ what, remedy: `${TIME_SERVICE} of both` }], measured };
}

/** What was written last is in the write-ahead log until a checkpoint of SQLite. */
function lastWriteMs(journal: string): number {
  const writeAhead = statSync(`${journal}-wal`, { throwIfNoEntry: false });
  return Math.max(statSync(journal).mtimeMs, writeAhead?.mtimeMs ?? 0);
}
