// Followers of the embedded store: their positions are in work.db, the logs in journal.db. Grown logs are found by the
// entries after the newest one seen, so that idle logs cost nothing.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { LogBehind, FollowStep } from '../../../followers/follow-store.ts';
import { numberOf, textIn } from '../../rows/columns.ts';
import type { RecordKind } from '../../../records/records.ts';
import type { JobTables } from '../../work/job-tables.ts';
import { advanceBy } from '../../work/positions.ts';
import type { WorkDatabase } from './work-database.ts';

/** The state of one follower. */
interface Following {
  /** The newest entry that was read. */
  entry: number;
  /** By tenant. */
  readonly behind: Map<TenantId, LogBehind>;
  readonly positions: Map<TenantId, number>;
}

const ENDS = `SELECT tenant_id, (SELECT max(leaf_index) + 1 FROM entries WHERE entries.tenant = tenants.tenant) AS end_index
  FROM tenants`;
const GROWN = `SELECT tenant_id, end_index FROM (SELECT tenant, max(leaf_index) + 1 AS end_index FROM entries
  WHERE id > ? AND id <= ? GROUP BY tenant) JOIN tenants USING (tenant)`;

const HAVING = 'SELECT DISTINCT tenant_id FROM records JOIN tenants USING (tenant) WHERE kind = ?';

export class Follows {
  readonly #journal: DatabaseSync;
  readonly #work: WorkDatabase;
  readonly #tables: JobTables<StatementSync>;
  readonly #newest: StatementSync;
  readonly #grown: StatementSync;
  readonly #having: StatementSync;
  readonly #followings = new Map<string, Following>();

  constructor(journal: DatabaseSync, work: WorkDatabase, tables: JobTables<StatementSync>) {
    this.#journal = journal;
    this.#work = work;
    this.#tables = tables;
    this.#newest = journal.prepare('SELECT coalesce(max(id), 0) AS id FROM entries');
    this.#grown = journal.prepare(GROWN);
    this.#having = journal.prepare(HAVING);
  }

  async begin(name: string, from: 'Beginning' | 'End'): Promise<void> {
    const entry = this.#newestEntry();
    const ends = endsIn(this.#journal.prepare(ENDS).all());
    const positions = await this.#work.begin(name, from, ends);
    const behind = new Map<TenantId, LogBehind>();
    for (const [tenant, endIndex] of ends) {
      const nextIndex = positions.get(tenant) ?? 0;
      if (nextIndex < endIndex) behind.set(tenant, { tenant, nextIndex, endIndex });
    }
    this.#followings.set(name, { entry, behind, positions });
  }

  behind(name: string, max: number, having?: RecordKind): LogBehind[] {
    const following = this.#followings.get(name);
    if (following === undefined) throw new Error(`the follower ${name} has not begun`);
    const newest = this.#newestEntry();
    const { behind, positions } = following;
    // Read after the newest entry: the log of a tenant that gets its first record later grows behind that one.
    const tenants = having && new Set(this.#having.all(having).map((row) => textIn(row, 'tenant_id')));
    if (tenants?.size === 0) following.entry = newest;
    if (newest > following.entry) {
      for (const [tenant, endIndex] of endsIn(this.#grown.all(following.entry, newest))) {
        const nextIndex = positions.get(tenant) ?? 0;
        if (nextIndex < endIndex) behind.set(tenant, { tenant, nextIndex, endIndex });
      }
      following.entry = newest;
    }
    const logs = [...behind.values()];
    return (tenants === undefined ? logs : logs.filter(({ tenant }) => tenants.has(tenant))).slice(0, max);
  }

  async advance(name: string, steps: readonly FollowStep[]): Promise<boolean[]> {
    const moved = await advanceBy(this.#work, this.#tables, name, steps);
    const following = this.#followings.get(name);
    for (const [i, { tenant, endIndex }] of steps.entries()) {
      if (!moved[i] || following === undefined) continue;
      following.positions.set(tenant, endIndex);
      const log = following.behind.get(tenant);
      following.behind.delete(tenant);
      // Moves it to the end, so that the others get their turn first.
      if (log !== undefined && endIndex < log.endIndex)
        following.behind.set(tenant, { ...log, nextIndex: endIndex });
    }
    return moved;
  }

  #newestEntry(): number {
    return numberOf(this.#newest.get(), 'id');
  }
}

function endsIn(rows: readonly Readonly<Record<string, unknown>>[]): Map<TenantId, number> {
  const ends = new Map<TenantId, number>();
  for (const row of rows)
    if (row['end_index'] !== null) ends.set(textIn(row, 'tenant_id'), numberOf(row, 'end_index'));
  return ends;
}
