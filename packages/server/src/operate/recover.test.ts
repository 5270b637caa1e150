import assert from 'node:assert/strict';
import { appendFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import type { Config } from '../config/settings.ts';
import { StartError } from '../start-error.ts';
import { openOwnAnchor } from '../storage/anchor/file-anchor.ts';
import { MIGRATIONS } from '../storage/sqlite/connection/schema.ts';
import { openSignedLogs, SIGNED_ORIGIN } from '../testing/signed-log.ts';
import { openRecovery } from './recover.ts';

/** A store with two signed entries that nobody else has open, and no anchor. */
async function signedStore(): Promise<Disposable & { config: Config; file: (name: string) => string }> {
  await using logs = await openSignedLogs('acme');
  await logs.fill('acme', 2);
  await logs.publish();
  const dataDirectory = mkdtempSync(join(tmpdir(), 'tallystick-recover-'));
  cpSync(logs.directory, dataDirectory, { recursive: true });
  return {
    config: { ...logs.config, storage: { ...logs.config.storage, dataDirectory } },
    file: (name) => join(dataDirectory, name),
    [Symbol.dispose]: () => rmSync(dataDirectory, { recursive: true }),
  };
}

describe('a recovery that only looks', () => {
  it('makes no anchor, and does not touch the one that is there', async () => {
    using store = await signedStore();
    {
      await using recovery = await openRecovery(store.config);
      assert.deepEqual([recovery.isAnchorNew, recovery.disagreements, recovery.warnings], [true, [], []]);
      assert.deepEqual(
        recovery.unanchored.map(({ tenant, signed, anchoredSize }) => [tenant, signed.size, anchoredSize]),
        [['acme', 2, 0]],
      );
    }
    assert.ok(!existsSync(store.file('anchor')), 'an anchor was made');
    {
      await using anchor = await openOwnAnchor(store.file('anchor'));
      await anchor.append([{ origin: `${SIGNED_ORIGIN}/t/acme`, size: 5, root: new Uint8Array(32) }]);
    }
    // What a crash cut short.
    appendFileSync(store.file('anchor'), 'audit.exam');
    const before = readFileSync(store.file('anchor'));
    {
      await using recovery = await openRecovery(store.config);
      assert.deepEqual(
        recovery.disagreements.map(({ tenant, kind, entries }) => [tenant, kind, entries]),
        [['acme', 'Behind', 2]],
      );
    }
    assert.ok(readFileSync(store.file('anchor')).equals(before), 'the anchor was written to');
  });

  it('refuses an anchor that is damaged', async () => {
    using store = await signedStore();
    appendFileSync(store.file('anchor'), 'this is no anchor\n');
    await assert.rejects(openRecovery(store.config), (error) => {
      assert.ok(error instanceof StartError, String(error));
      assert.match(error.message, /^cannot use the anchor /);
      return true;
    });
  });

  it('refuses data of an older version, and leaves it so', async () => {
    using store = await signedStore();
    using db = new DatabaseSync(store.file('journal.db'));
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length - 1}`);
    await assert.rejects(openRecovery(store.config), (error) => {
      assert.ok(error instanceof StartError, String(error));
      assert.match(error.message, /this program needs version .*`tallystick migrate`/);
      return true;
    });
    assert.equal(db.prepare('PRAGMA user_version').get()?.['user_version'], MIGRATIONS.length - 1);
  });
});
