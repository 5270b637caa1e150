import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { type LogRow, type Place, STREAMS } from '../conformance/claims.ts';
import { SEED_BYTES } from '../commitments.ts';
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
import { JOURNAL_FILE } from './database.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-sqlite-'));
after(() => rmSync(folder, { recursive: true }));

function placeFor(threads: boolean): Place {
  const directory = mkdtempSync(join(folder, 'data-'));
  const raw = () => new DatabaseSync(join(directory, JOURNAL_FILE));
  return {
    open: (streams) =>
      openSqliteStorage({
        directory,
        logOrigin: 'audit.example.com',
        streams: { ...STREAMS, ...streams },
        clock: systemClock,
        random: createSystemRandom(),
        threads,
        exclusive: threads,
        onFatal: (error) => {
          throw error;
        },
      }),
    rows(tenant) {
      using db = raw();
      return db
        .prepare(
          `SELECT leaf_index, entry, leaf, root1, root2, text1, text2, seeds FROM entries JOIN contents USING (id)
           WHERE tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?) ORDER BY leaf_index`,
        )
        .all(tenant)
        .map((row): LogRow => {
          const bytes = (column: string) => row[column] as Uint8Array;
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
    removeContent(tenant, index) {
      using db = raw();
      db.prepare(
        `DELETE FROM contents WHERE id = (SELECT id FROM entries JOIN tenants USING (tenant)
         WHERE tenant_id = ? AND leaf_index = ?)`,
      ).run(tenant, index);
    },
    alterContent(tenant, index, text) {
      using db = raw();
      db.prepare(
        `UPDATE contents SET text2 = CAST(? AS BLOB) WHERE id = (SELECT id FROM entries JOIN tenants USING (tenant)
         WHERE tenant_id = ? AND leaf_index = ?)`,
      ).run(text, tenant, index);
    },
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
];

for (const threads of [false, true]) {
  describe(`SQLite ${threads ? 'with threads' : 'in process'}`, () => {
    for (const claims of CLAIMS) {
      for (const [claim, holds] of Object.entries(claims)) it(claim, () => holds(placeFor(threads)));
    }
  });
}
