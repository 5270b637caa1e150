// P7 over a restart: an old copy of a store whose anchor was taken away is not served. The control leaves the refusal out, and
// one more event hides the rollback from a reader who has nothing but the store.

import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { checkStore } from '../../packages/server/src/check-store.ts';
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
