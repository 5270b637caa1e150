import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { emptyPlace, placeWithData } from '../testing/place.ts';

describe('tallystick migrate', { concurrency: 3 }, () => {
  it('says so when there is nothing to do', async () => {
    using place = await placeWithData();
    const { code, stdout, stderr } = await place.run(['migrate']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.ok(stdout.startsWith(`${place.data} has schema version `), stdout);
    assert.match(stdout, / version [1-9]\d* already\n$/);
  });

  it('makes no data where there is none', async () => {
    using place = emptyPlace();
    const { code, stderr } = await place.run(['migrate']);
    assert.equal(code, 2);
    assert.match(stderr, /^tallystick: there is no data in .*Storage__DataDirectory or --config.*\n$/);
    assert.deepEqual(readdirSync(place.folder), []);
  });

  it('leaves data of a newer program alone, and of an older one while a service runs', async () => {
    using place = await placeWithData();
    const setVersion = (version: number) => {
      using db = new DatabaseSync(join(place.data, 'journal.db'));
      db.exec(`PRAGMA user_version = ${version}`);
    };
    {
      using lock = new DatabaseSync(join(place.data, 'lock.db'));
      lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
      assert.equal((await place.run(['migrate'])).code, 0, 'nothing to do');
      setVersion(0);
      const busy = await place.run(['migrate']);
      assert.equal(busy.code, 1);
      assert.match(busy.stderr, /another instance is running on the data directory/);
    }
    setVersion(99);
    const newer = await place.run(['migrate']);
    assert.equal(newer.code, 1);
    assert.match(newer.stderr, /has schema version 99; .* written by a newer one\n$/);
  });
});
