// The keys of tenants in journal.db, beside what the writer needs for each pool: sqlite/append/journal-keys.ts.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { Calls } from '../../../runtime/calls.ts';
import { pauseForOthers } from '../../../runtime/pause.ts';
import type { TenantKeyStore } from '../../../streams/removal/tenant-keys.ts';
import { numberOf, textIn, textOrNone } from '../../rows/columns.ts';
import { startOfContentMonth } from '../../rows/content-month.ts';
import { keyIn } from '../../rows/key-row.ts';
import type { KeyRows } from '../../sealing/key-changes.ts';
import type { JournalOwner } from '../append/journal-owner.ts';

/** The keys of the keyring that have sealed some of them that are not destroyed. */
export function ringKeysIn(db: DatabaseSync): string[] {
  return db
    .prepare(`SELECT DISTINCT ring_key FROM tenant_keys WHERE state <> 'Destroyed'`)
    .all()
    .map((row) => textIn(row, 'ring_key'));
}

/** These, and those that have sealed nothing but keys that are destroyed: no command takes a key out of a keyring. */
export function namedRingKeysIn(db: DatabaseSync): string[] {
  return db
    .prepare('SELECT DISTINCT ring_key FROM tenant_keys')
    .all()
    .map((row) => textIn(row, 'ring_key'));
}

export function hasKeys(db: DatabaseSync): boolean {
  return db.prepare('SELECT 1 FROM tenant_keys LIMIT 1').get() !== undefined;
}

const OF_TENANT = 'tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?1)';

/** In the transaction of the caller. */
export function keyRowsOf(db: DatabaseSync, tenant: TenantId): KeyRows {
  const put = db.prepare(
    `UPDATE tenant_keys SET state = ?3, sealed = ?4, ring_key = ?5 WHERE ${OF_TENANT} AND key_id = ?2`,
  );
  return {
    all: () =>
      db
        .prepare(`SELECT * FROM tenant_keys WHERE ${OF_TENANT} ORDER BY purpose <> 'Tenant', key_id`)
        .all(tenant)
        .map(keyIn),
    put: ({ keyId, state, sealed, ringKey }) => put.run(tenant, keyId, state, sealed, ringKey),
  };
}

/** All of them; those under which something is sealed; or data keys of the months before one. */
export type ClosedKeys = 'All' | 'Data' | { readonly before: number };

export function closeKeys(db: DatabaseSync, tenant: TenantId, closed: ClosedKeys): void {
  const ofMonths = typeof closed === 'string' ? '' : `AND month > 0 AND month < ${closed.before}`;
  const which = closed === 'All' ? '' : `AND purpose <> 'Tenant' ${ofMonths}`;
  db.prepare(`UPDATE tenant_keys SET state = 'Closed' WHERE ${OF_TENANT} AND state = 'Open' ${which}`).run(
    tenant,
  );
}

export function createTenantKeyStore(reading: DatabaseSync, owner: Calls<JournalOwner>): TenantKeyStore {
  const tenants = reading.prepare(
    `SELECT DISTINCT tenant_id FROM tenant_keys JOIN tenants USING (tenant) WHERE tenant_id > ? ORDER BY tenant_id LIMIT ?`,
  );
  const unused = new UnusedKeys(reading);
  const emptied = reading.prepare(
    `SELECT month FROM tenant_keys WHERE purpose = 'Content' AND month > 0 AND month < ?
     GROUP BY month HAVING min(state = 'Destroyed') = 1`,
  );
  return {
    tenants: async (after, limit) => tenants.all(after ?? '', limit).map((row) => textIn(row, 'tenant_id')),
    close: (tenant) => owner.closeKeys(tenant, 'All'),
    rotate: (tenant) => owner.closeKeys(tenant, 'Data'),
    closeBefore: (tenant, before) => owner.closeKeys(tenant, { before }),
    renew: (tenant) => owner.renewKeys(tenant),
    destroyUnused: async (tenant) => owner.destroyKeys(tenant, await unused.of(tenant)),
    emptiedMonths: async (before) => emptied.all(before).map((row) => numberOf(row, 'month')),
    ringKeys: async () => ringKeysIn(reading),
  };
}

/** Some milliseconds. */
const LOOKED_AT_MAX = 2000;

/**
 * Content under a key expires in the month of the key, so that only the contents of that month are looked at: of a month that is over,
 * those that a hold keeps.
 */
class UnusedKeys {
  readonly #closed: StatementSync;
  readonly #contents: StatementSync;

  constructor(reading: DatabaseSync) {
    this.#closed = reading.prepare(
      `SELECT key_id, month FROM tenant_keys
       WHERE ${OF_TENANT} AND purpose = 'Content' AND state = 'Closed' AND month > 0`,
    );
    this.#contents = reading.prepare(
      `SELECT expires_at_ms, id, key_id FROM contents WHERE (expires_at_ms, id) > (?, ?) AND expires_at_ms < ?
       ORDER BY expires_at_ms, id LIMIT ${LOOKED_AT_MAX}`,
    );
  }

  /** The closed keys of content under which there is none. */
  async of(tenant: TenantId): Promise<string[]> {
    const byMonth = Map.groupBy(this.#closed.all(tenant), (row) => numberOf(row, 'month'));
    const unused: string[] = [];
    for (const [month, rows] of byMonth)
      unused.push(...(await this.#ofMonth(month, new Set(rows.map((row) => textIn(row, 'key_id'))))));
    return unused;
  }

  async #ofMonth(month: number, keys: Set<string>): Promise<Iterable<string>> {
    for (let [ms, id] = [startOfContentMonth(month), -1]; keys.size > 0; ) {
      const rows = this.#contents.all(ms, id, startOfContentMonth(month + 1));
      for (const row of rows) keys.delete(textOrNone(row, 'key_id') ?? '');
      const last = rows.at(-1);
      if (last === undefined) break;
      [ms, id] = [numberOf(last, 'expires_at_ms'), numberOf(last, 'id')];
      await pauseForOthers();
    }
    return keys;
  }
}
