// P7 over a restart: an old copy of a store whose anchor was taken away is not served. The control leaves the refusal out, and
// one more event hides the rollback from a reader who has nothing but the store.

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { checkStore } from '../../packages/server/src/check-store.ts';
import { loadConfig } from '../../packages/server/src/config/config.ts';
import { openRecovery } from '../../packages/server/src/operate/recover.ts';
import { startService } from './running.ts';
import { copyDirectory, Maker, type MadeStore, makeStore } from './tamper/made-store.ts';

async function reasonsIn(directory: string): Promise<string[]> {
  const { faults } = await checkStore(directory, { keys: [], seen: [] });
  return faults.map(({ reason }) => reason);
}

describe('a store that was put back, without its anchor', { concurrency: 1 }, () => {
  let store: MadeStore;
  const copies: string[] = [];

  before(async () => {
    store = await makeStore();
  });
  after(() => {
    store[Symbol.dispose]();
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  });

  function putBack(): string {
    const directory = copyDirectory(store.directory);
    copies.push(directory);
    copyFileSync(store.earlier, join(directory, 'journal.db'));
    rmSync(join(directory, 'anchor'));
    return directory;
  }

  it('is not served, however often it is started, and is not verified', async () => {
    const directory = putBack();
    for (let start = 1; start <= 2; start++) {
      await assert.rejects(
        startService({ dataDirectory: directory }),
        /ended with 1: .*the anchor in \S+ knows none of the logs that were signed/,
      );
      assert.deepEqual(await reasonsIn(directory), ['HISTORY_UNPROVEN'], `after start ${start}`);
    }
  });

  it('is not served where its checkpoints are deleted as well, and goes on only with a notice', async () => {
    const directory = putBack();
    {
      using db = new DatabaseSync(join(directory, 'journal.db'));
      db.exec('DELETE FROM checkpoints; DELETE FROM tile_hashes');
    }
    for (let start = 1; start <= 2; start++) {
      await assert.rejects(
        startService({ dataDirectory: directory }),
        /the anchor in \S+ knows none of the logs/,
      );
      assert.equal(existsSync(join(directory, 'anchor')), false, 'none is made in its place');
    }
    const { config } = loadConfig({
      variables: { Storage__DataDirectory: directory, Environment: 'Test' },
      workingDirectory: directory,
    });
    {
      await using recovery = await openRecovery(config);
      const { accepted } = await recovery.acceptLostAnchor();
      assert.deepEqual(accepted.map(({ tenant }) => tenant).toSorted(), ['acme', 'globex']);
    }
    await using _ = await startService({ dataDirectory: directory });
  });

  it('would be verified after one more event, if something signed it without asking for the anchor', async () => {
    const directory = putBack();
    {
      await using maker = await Maker.open(directory);
      for (const tenant of ['acme', 'globex']) await maker.events(tenant, 1, 'Deny.Everything');
      await maker.publish();
    }
    assert.deepEqual(await reasonsIn(directory), []);
  });
});
