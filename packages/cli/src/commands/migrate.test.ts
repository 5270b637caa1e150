import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { run } from '../testing/command.ts';

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-migrate-'));
  const data = join(folder, 'data');
  const env = { Storage__DataDirectory: data };
  return {
    folder,
    data,
    migrate: () => run(['migrate'], { env }),
    makeKey: () => run(['keys', 'create', '--tenant', 'acme', '--role', 'Viewer', '--name', 'x'], { env }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

describe('tallystick migrate', { concurrency: 3 }, () => {
  it('says so when there is nothing to do', async () => {
    using place = setUp();
    assert.equal((await place.makeKey()).code, 0);
    const { code, stdout, stderr } = await place.migrate();
    assert.deepEqual([code, stdout, stderr], [0, `${place.data} has schema version 1 already\n`, '']);
  });

  it('makes no data where there is none', async () => {
    using place = setUp();
    const { code, stderr } = await place.migrate();
    assert.equal(code, 1);
    assert.match(stderr, /^tallystick: there is no data in .* yet; see Storage__DataDirectory\n$/);
    assert.deepEqual(readdirSync(place.folder), []);
  });

  it('leaves data of a newer program alone, and of an older one while a service runs', async () => {
    using place = setUp();
    await place.makeKey();
    const setVersion = (version: number) => {
      using db = new DatabaseSync(join(place.data, 'journal.db'));
      db.exec(`PRAGMA user_version = ${version}`);
    };
    {
      using lock = new DatabaseSync(join(place.data, 'lock.db'));
      lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
      assert.equal((await place.migrate()).code, 0, 'nothing to do');
      setVersion(0);
      const busy = await place.migrate();
      assert.equal(busy.code, 1);
      assert.match(busy.stderr, /another instance is running on the data directory/);
    }
    setVersion(99);
    const newer = await place.migrate();
    assert.equal(newer.code, 1);
    assert.match(newer.stderr, /has schema version 99; .* written by a newer one\n$/);
  });
});
