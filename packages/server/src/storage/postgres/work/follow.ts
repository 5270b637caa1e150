// Followers on PostgreSQL: each node follows the logs in its shares. If two nodes do so at once, the position decides.

import type { FollowStore, LogBehind } from '../../../followers/follow-store.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import { JobTables } from '../../work/job-tables.ts';
import { advanceBy } from '../../work/positions.ts';
import { ALL_TENANTS, type Database, statement } from '../connection/database.ts';
import type { HeldShares } from '../nodes/held-shares.ts';
import { jobsIn } from './work.ts';

/** A row without a tenant marks the follower as known, even if it found no log. */
const MARK_KNOWN = statement(
  "INSERT INTO positions (tenant_id, name, next_index) VALUES ('', $1, 0) ON CONFLICT DO NOTHING",
);
const KNOWN = statement('SELECT 1 FROM positions WHERE name = $1 LIMIT 1');
const BEGIN_AT_END = statement(
  `INSERT INTO positions (tenant_id, name, next_index) SELECT tenant_id, $1, next_index FROM heads
   ON CONFLICT DO NOTHING`,
);
// In a log that was put back, the follower continues from its end.
const SHORTER = statement(
  `UPDATE positions SET next_index = heads.next_index FROM heads
   WHERE heads.tenant_id = positions.tenant_id AND positions.name = $1 AND positions.next_index > heads.next_index`,
);
// What was counted in the entries that are gone counts no more.
const FORGET_WINDOWS = statement(
  `DELETE FROM windows USING positions, heads WHERE positions.tenant_id = windows.tenant_id AND positions.name = $1
   AND heads.tenant_id = positions.tenant_id AND positions.next_index > heads.next_index`,
);
const behindAmong = (heads: string) =>
  statement(
    `SELECT heads.tenant_id, coalesce(positions.next_index, 0) AS next_index, heads.next_index AS end_index
     FROM ${heads} LEFT JOIN positions ON positions.tenant_id = heads.tenant_id AND positions.name = $1
     WHERE heads.next_index > coalesce(positions.next_index, 0)
       AND ($2::smallint[] IS NULL OR heads.share = ANY ($2::smallint[]))
     LIMIT $3`,
  );
const BEHIND = behindAmong('heads');
/** From the few tenants with such records, not from all heads. */
const BEHIND_HAVING = behindAmong(
  '(SELECT DISTINCT tenant_id FROM records WHERE kind = $4) AS owners JOIN heads ON heads.tenant_id = owners.tenant_id',
);

export function createFollowStore(database: Database, held: HeldShares): FollowStore {
  const jobs = jobsIn(database);
  const tables = new JobTables(jobs);
  return {
    begin: (name, from) =>
      database.inTransaction(ALL_TENANTS, async (transaction) => {
        const isNew = (await transaction.query(KNOWN, [name])).length === 0;
        if (isNew && from === 'End') await transaction.change(BEGIN_AT_END, [name]);
        if (isNew) await transaction.change(MARK_KNOWN, [name]);
        await transaction.change(FORGET_WINDOWS, [name]);
        await transaction.change(SHORTER, [name]);
      }),
    async behind(name, max, having) {
      const asked = [name, held.list(), max];
      const rows =
        having === undefined
          ? await database.read(ALL_TENANTS, BEHIND, asked)
          : await database.read(ALL_TENANTS, BEHIND_HAVING, [...asked, having]);
      return rows.map(
        (row): LogBehind => ({
          tenant: textIn(row, 'tenant_id'),
          nextIndex: numberOf(row, 'next_index'),
          endIndex: numberOf(row, 'end_index'),
        }),
      );
    },
    advance: (name, steps) => advanceBy(jobs, tables, name, steps),
  };
}
