import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { StartError } from '../start-error.ts';
import { JOURNAL_FILE } from '../storage/sqlite/connection/database.ts';
import { openSignedLogs } from '../testing/signed-log.ts';
import { backUp } from './back-up.ts';

const PADDING_BYTES = 64 * 1_048_576;

describe('a copy of a data directory', () => {
  it('tells how far it has come, and is whole', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 20);
    {
      // So much that copying takes a while.
      using db = new DatabaseSync(join(logs.directory, JOURNAL_FILE));
      db.exec('PRAGMA busy_timeout = 10000; CREATE TABLE padding (bytes BLOB)');
      for (let i = 0; i < 64; i++)
        db.prepare('INSERT INTO padding VALUES (randomblob(?))').run(PADDING_BYTES / 64);
    }
    const reports: { readonly bytes: number; readonly bytesTotal: number }[] = [];
    const file = join(logs.directory, 'copy.db');
    const { bytes } = await backUp(logs.config, file, (report) => reports.push(report));
    assert.equal(bytes, statSync(file).size);
    assert.ok(bytes > PADDING_BYTES);
    assert.ok(reports.length > 1, 'progress was not reported');
    const told = reports.map((report) => report.bytes);
    assert.deepEqual(
      told,
      told.toSorted((a, b) => a - b),
    );
    for (const { bytesTotal } of reports)
      assert.ok(Math.abs(bytesTotal - bytes) < bytes / 10, `${bytesTotal}`);
    using copy = new DatabaseSync(file, { readOnly: true });
    assert.deepEqual({ ...copy.prepare('SELECT count(*) AS entries FROM entries').get() }, { entries: 20 });
  });

  it('that cannot be made leaves nothing behind', async () => {
    await using logs = await openSignedLogs('acme');
    await logs.fill('acme', 1);
    const there = join(logs.directory, 'there.db');
    writeFileSync(there, 'mine');
    await assert.rejects(backUp(logs.config, there), /there\.db is there already/);
    const nowhere = join(logs.directory, 'nowhere', 'copy.db');
    await assert.rejects(backUp(logs.config, nowhere), (error) => {
      assert.ok(error instanceof StartError, String(error));
      assert.match(error.message, /^cannot write \S+copy\.db: ENOENT/);
      return true;
    });
    assert.ok(!existsSync(nowhere));
    assert.deepEqual(
      readdirSync(logs.directory).filter((name) => name.includes('draft')),
      [],
    );
  });
});
