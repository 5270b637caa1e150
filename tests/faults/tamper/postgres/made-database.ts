// The same small store as made-store.ts makes, in a database of PostgreSQL.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../../packages/server/src/runtime/clock.ts';
import { createSystemRandom } from '../../../../packages/server/src/runtime/random.ts';
import { openPostgresStorage } from '../../../../packages/server/src/storage/postgres/postgres-storage.ts';
import type { Databases } from '../../../../packages/server/src/testing/postgres-server.ts';
import { LOG_ORIGIN, Maker, type MakersPlace } from '../made-store.ts';

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
  return Maker.over(directory, storage);
}
