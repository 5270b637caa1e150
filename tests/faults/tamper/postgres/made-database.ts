// The same small store as made-store.ts makes, in a database of PostgreSQL.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { subtreeHashes } from '@tallystick/evidence';
import { systemClock } from '../../../../packages/server/src/runtime/clock.ts';
import { createSystemRandom } from '../../../../packages/server/src/runtime/random.ts';
import { Database, PROJECTOR } from '../../../../packages/server/src/storage/postgres/database.ts';
import { openPostgresStorage } from '../../../../packages/server/src/storage/postgres/postgres-storage.ts';
import { askedAlone, TreeTables } from '../../../../packages/server/src/storage/postgres/tree-tables.ts';
import { raw } from '../../../../packages/server/src/testing/postgres-nodes.ts';
import type { Databases } from '../../../../packages/server/src/testing/postgres-server.ts';
import { LOG_ORIGIN, Maker, type MakersPlace, purgeFacts, type PurgedRows } from '../made-store.ts';

export interface MadeDatabase extends Disposable {
  /** With the keys and the anchor. */
  readonly directory: string;
  /** For the superuser. */
  readonly url: string;
  /** The database as it was at some earlier moment, when it had been signed and anchored too. */
  readonly earlier: string;
}

export async function makeDatabase(
  server: Databases,
  fill: (place: MakersPlace) => Promise<void>,
): Promise<MadeDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-tamper-'));
  let url = await server.createDatabase();
  let earlier = url;
  await fill({
    directory,
    open: () => openMaker(directory, url),
    async keep() {
      earlier = await server.createDatabase(url);
    },
    async putBack() {
      url = await server.createDatabase(earlier);
    },
  });
  return {
    directory,
    url,
    earlier,
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export async function openMaker(directory: string, url: string): Promise<Maker> {
  const storage = await openPostgresStorage({
    url,
    logOrigin: LOG_ORIGIN,
    streams: { sealAfter: { ms: 86_400_000 }, sealAfterEvents: 1_000_000 },
    clock: systemClock,
    random: createSystemRandom(),
  });
  return Maker.over(directory, storage, rowsOf(url));
}

function rowsOf(url: string): PurgedRows {
  return {
    async purgeOf(tenant, from, to) {
      await using database = new Database({ url, connectionsMax: 1 });
      const [tables, asked] = [new TreeTables(LOG_ORIGIN), askedAlone(database, PROJECTOR)];
      const { log, latest } = (await tables.signedLog(asked, tenant))!;
      const made = tables.made(asked, log, latest!.size, (read) =>
        subtreeHashes({ begin: from, end: to }, read),
      );
      return purgeFacts(from, to, await made);
    },
    async removeContents(tenant, from, to) {
      const sql = 'DELETE FROM contents WHERE tenant_id = $1 AND leaf_index >= $2 AND leaf_index < $3';
      await raw(url, sql, [tenant, from, to]);
    },
  };
}
