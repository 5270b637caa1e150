// The claims of every backend on PostgreSQL: what they are, and the place that they are held to.

import { Pool } from 'pg';
import { systemClock } from '../runtime/clock.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { SEED_BYTES } from '../storage/pool/commitments.ts';
import { type LogRow, type TestInstallation, STREAMS } from '../storage/conformance/claims.ts';
import type { RingData } from '../storage/sealing/keyring.ts';
import { SEALED_COLUMNS } from '../storage/sealing/sealed-rows.ts';
import { sealingWith } from '../storage/sealing/sealing.ts';
import { sealingBy, testRing, TextsBeside } from './sealed-store.ts';
import { SCHEMA } from '../storage/postgres/connection/database.ts';
import { openPostgresStorage, type ThreadsOptions } from '../storage/postgres/postgres-storage.ts';

export interface ClaimedOptions {
  /** Undefined: without threads. */
  readonly threads?: ThreadsOptions;
  /** Seals all content; undefined: none. */
  readonly ring?: RingData;
  /** Those who serve; undefined: the superuser does everything. */
  readonly users?: { readonly serving: string; readonly index: string; readonly retention: string };
}

/** The backend on a database whose tables are there and empty; `url` is that of a superuser. */
export function placeAt(
  url: string,
  { threads, users, ring }: ClaimedOptions = {},
): TestInstallation & AsyncDisposable {
  const as = (user: string) => Object.assign(new URL(url), { username: user }).href;
  const opening = sealingWith({ ring, sealed: 0 });
  const beside = new TextsBeside();
  const plainRing = testRing();
  // Some connections, however much is asked for at once: the server has an end of them.
  const pool = new Pool({ connectionString: url, max: 4, options: `-c search_path=${SCHEMA}` });
  const raw = async (sql: string, values: unknown[]) =>
    (await pool.query<Record<string, unknown>>(sql, values)).rows;
  return {
    open: (streams) =>
      openPostgresStorage({
        ...(users === undefined
          ? { url }
          : { url: as(users.serving), indexUrl: as(users.index), retentionUrl: as(users.retention) }),
        logOrigin: 'audit.example.com',
        streams: { ...STREAMS, ...streams },
        clock: systemClock,
        random: createSystemRandom(),
        mayMigrate: false,
        ...(threads && { threads }),
        openSealing: ring === undefined ? sealingBy(plainRing, []) : sealingBy(ring),
      }),
    async rows(tenant) {
      const rows = await raw(
        `SELECT entries.leaf_index, entry, leaf, root1, root2, text1, text2, seeds, ${SEALED_COLUMNS.PostgreSQL}
         FROM entries JOIN contents USING (tenant_id, leaf_index) WHERE entries.tenant_id = $1 ORDER BY leaf_index`,
        [tenant],
      );
      return rows.map((stored): LogRow => {
        const row = opening.rows.open(stored);
        const bytes = (column: string) => Uint8Array.from(row[column] as Buffer);
        return {
          index: Number(row['leaf_index']),
          entry: bytes('entry'),
          leaf: bytes('leaf'),
          roots: [bytes('root1'), bytes('root2')],
          texts: [bytes('text1'), bytes('text2')],
          seeds: [bytes('seeds').subarray(0, SEED_BYTES), bytes('seeds').subarray(SEED_BYTES)],
        };
      });
    },
    async removeContent(tenant, index) {
      await raw('DELETE FROM contents WHERE tenant_id = $1 AND leaf_index = $2', [tenant, index]);
    },
    async putDeletion(tenant, { firstIndex, endIndex, noticeIndex }) {
      await raw('INSERT INTO deletions VALUES ($1, $2, $3, $4)', [tenant, firstIndex, endIndex, noticeIndex]);
    },
    async putRedaction(tenant, { index, noticeIndex }) {
      await raw('INSERT INTO redactions VALUES ($1, $2, $3)', [tenant, index, noticeIndex]);
    },
    async removeRedaction(tenant, { index, noticeIndex }) {
      const place = 'tenant_id = $1 AND leaf_index = $2 AND notice_index = $3';
      await raw(`DELETE FROM redactions WHERE ${place}`, [tenant, index, noticeIndex]);
    },
    async alterContent(tenant, index, wanted) {
      const text = ring === undefined ? wanted : beside.of(tenant, index, wanted);
      await raw(
        `UPDATE contents SET text2 = convert_to($3, 'UTF8') WHERE tenant_id = $1 AND leaf_index = $2`,
        [tenant, index, text],
      );
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}
