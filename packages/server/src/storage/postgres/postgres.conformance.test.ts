import { after, before, describe, it } from 'node:test';
import { Pool } from 'pg';
import { systemClock } from '../../runtime/clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { type PostgresServer, startPostgres } from '../../testing/postgres-server.ts';
import { SEED_BYTES } from '../commitments.ts';
import { type LogRow, type Place, STREAMS } from '../conformance/claims.ts';
import { epochClaims } from '../conformance/epochs.ts';
import { byteClaims } from '../conformance/log-bytes.ts';
import { chainClaims } from '../conformance/log-chain.ts';
import { idClaims } from '../conformance/log-ids.ts';
import { keyClaims } from '../conformance/log-keys.ts';
import { sealRequestClaims } from '../conformance/seal-requests.ts';
import { streamReadClaims } from '../conformance/stream-reads.ts';
import { streamSealClaims } from '../conformance/stream-seals.ts';
import { tenantClaims } from '../conformance/tenants.ts';
import { treeClaims } from '../conformance/tree.ts';
import { treeProofClaims } from '../conformance/tree-proofs.ts';
import { Database, SCHEMA } from './database.ts';
import { migrate } from './migrate.ts';
import { openPostgresStorage } from './postgres-storage.ts';

let server: PostgresServer;
let migrated: string;
before(async () => {
  server = await startPostgres();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  await migrate(owner, 'postgres');
});
after(() => server?.[Symbol.asyncDispose]());

async function placeOn(): Promise<Place & AsyncDisposable> {
  const url = await server.createDatabase(migrated);
  // Some connections, however much is asked for at once: the server has an end of them.
  const pool = new Pool({ connectionString: url, max: 4, options: `-c search_path=${SCHEMA}` });
  const raw = async (sql: string, values: unknown[]) =>
    (await pool.query<Record<string, unknown>>(sql, values)).rows;
  return {
    open: (streams) =>
      openPostgresStorage({
        url,
        logOrigin: 'audit.example.com',
        streams: { ...STREAMS, ...streams },
        clock: systemClock,
        random: createSystemRandom(),
        mayMigrate: false,
      }),
    async rows(tenant) {
      const rows = await raw(
        `SELECT leaf_index, entry, leaf, root1, root2, text1, text2, seeds
         FROM entries JOIN contents USING (tenant_id, leaf_index) WHERE tenant_id = $1 ORDER BY leaf_index`,
        [tenant],
      );
      return rows.map((row): LogRow => {
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
    async alterContent(tenant, index, text) {
      await raw(
        `UPDATE contents SET text2 = convert_to($3, 'UTF8') WHERE tenant_id = $1 AND leaf_index = $2`,
        [tenant, index, text],
      );
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

const CLAIMS = [
  chainClaims,
  keyClaims,
  idClaims,
  byteClaims,
  tenantClaims,
  treeClaims,
  treeProofClaims,
  streamSealClaims,
  sealRequestClaims,
  streamReadClaims,
  epochClaims,
].flatMap((claims) => Object.entries(claims));

describe('PostgreSQL', () => {
  for (const [claim, holds] of CLAIMS) {
    it(claim, async () => {
      await using place = await placeOn();
      await holds(place);
    });
  }
});
