import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { StartError } from '../../../start-error.ts';
import {
  inOneState,
  inTransaction,
  JOURNAL_FILE,
  migrateJournal,
  openJournal,
  openJournalForReading,
} from './database.ts';
import { settleInstallation } from './meta.ts';
import { usedKeyOf } from '../../rows/used-key-row.ts';
import { MIGRATIONS } from './schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-database-'));
after(() => rmSync(folder, { recursive: true }));
const freshDirectory = () => mkdtempSync(join(folder, 'data-'));
const pragma = (db: DatabaseSync, name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
const isStartError = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StartError);
  assert.match(error.message, pattern);
  return true;
};

test('the journal is created for its owner only, durable and erasable, and reopens with the same settings', () => {
  const directory = freshDirectory();
  for (const round of ['made', 'opened again']) {
    const db = openJournal(directory);
    db.prepare("INSERT OR REPLACE INTO meta VALUES ('x', 1)").run();
    for (const file of [JOURNAL_FILE, `${JOURNAL_FILE}-wal`, `${JOURNAL_FILE}-shm`]) {
      assert.equal(statSync(join(directory, file)).mode & 0o777, 0o600, `${file} ${round}`);
    }
    const names = [
      'journal_mode',
      'synchronous',
      'secure_delete',
      'auto_vacuum',
      'foreign_keys',
      'page_size',
    ];
    assert.deepEqual(
      names.map((name) => pragma(db, name)),
      ['wal', 2, 1, 2, 1, 16_384],
      round,
    );
    db.close();
  }
});

test('a reader sees what is committed and cannot write', () => {
  const directory = freshDirectory();
  assert.throws(() => openJournalForReading(directory), isStartError(/^cannot open .*journal\.db/));
  using db = openJournal(directory);
  db.prepare("INSERT INTO meta VALUES ('x', 'y')").run();
  using reader = openJournalForReading(directory);
  assert.equal(reader.prepare('SELECT value FROM meta').get()?.['value'], 'y');
  assert.throws(() => reader.exec('DELETE FROM meta'), /readonly|read-only/);
});

test('a schema of a newer program gives a one-line error', () => {
  const directory = freshDirectory();
  using db = openJournal(directory);
  db.exec('PRAGMA user_version = 99');
  for (const open of [openJournal, openJournalForReading]) {
    assert.throws(() => open(directory), isStartError(/journal\.db has schema version 99; .* newer one$/));
  }
});

/** The versions of this program and of a later one. */
const [THIS, NEXT] = [MIGRATIONS.length, MIGRATIONS.length + 1];
const NEXT_MIGRATIONS = [...MIGRATIONS, 'CREATE TABLE more (x); INSERT INTO more SELECT value FROM meta'];

test('an older schema is migrated only with permission', () => {
  const directory = freshDirectory();
  const path = join(directory, JOURNAL_FILE);
  {
    using db = openJournal(directory);
    db.prepare("INSERT INTO meta VALUES ('x', 'kept')").run();
  }
  const before = readFileSync(path);
  const isRefused = isStartError(
    new RegExp(`journal\\.db has schema version ${THIS}; .* version ${NEXT}: .*\`tallystick migrate\`$`),
  );
  assert.throws(() => openJournal(directory, { migrations: NEXT_MIGRATIONS }), isRefused);
  assert.throws(() => openJournalForReading(directory, { migrations: NEXT_MIGRATIONS }), isRefused);
  const broken = [...MIGRATIONS, 'CREATE TABLE more (x); CREATE NONSENSE'];
  assert.throws(
    () => openJournal(directory, { migrations: broken, mayMigrate: true }),
    isStartError(/^cannot open .*journal\.db: .*NONSENSE/),
  );
  assert.ok(readFileSync(path).equals(before), 'what was refused has changed nothing');
  assert.deepEqual(migrateJournal(directory, NEXT_MIGRATIONS), { from: THIS, to: NEXT });
  assert.deepEqual(
    migrateJournal(directory, NEXT_MIGRATIONS),
    { from: NEXT, to: NEXT },
    'nothing is left to do',
  );
  {
    using db = openJournal(directory, { migrations: NEXT_MIGRATIONS, mayMigrate: true });
    assert.equal(pragma(db, 'user_version'), NEXT);
    assert.equal(db.prepare('SELECT x FROM more').get()?.['x'], 'kept');
  }
  openJournal(directory, { migrations: NEXT_MIGRATIONS }).close();
  openJournalForReading(directory, { migrations: NEXT_MIGRATIONS }).close();
  assert.throws(() => openJournal(directory, { mayMigrate: true }), isStartError(/ newer one$/));
});

test('keys that were used before their classification was kept have the highest', () => {
  const directory = freshDirectory();
  {
    using db = openJournal(directory, { migrations: MIGRATIONS.slice(0, 2) });
    db.exec(`INSERT INTO tenants (tenant, tenant_id, fingerprint_key, created_at_ms, updated_at_ms)
       VALUES (1, 'acme', x'01', 0, 0);
     INSERT INTO used_keys (tenant, operation, key, fingerprint, expires_at_ms, note, outcomes)
       VALUES (1, 'events.ingest', 'k', x'01', 9, '', x'')`);
  }
  migrateJournal(directory);
  using db = openJournalForReading(directory);
  const used = usedKeyOf(db.prepare('SELECT * FROM used_keys').get(), 0);
  assert.equal(used?.classification, 'Secret');
});

test('an empty file becomes a journal only with permission to create one', () => {
  const directory = freshDirectory();
  const path = join(directory, JOURNAL_FILE);
  writeFileSync(path, '');
  assert.throws(() => openJournal(directory, { mayCreate: false }), isStartError(/journal\.db is empty$/));
  assert.throws(() => openJournalForReading(directory), isStartError(/journal\.db is empty$/));
  assert.equal(statSync(path).size, 0);
  openJournal(directory).close();
  openJournalForReading(directory).close();
});

test('a foreign file is not changed', () => {
  const directory = freshDirectory();
  const path = join(directory, JOURNAL_FILE);
  using other = new DatabaseSync(path);
  other.exec('CREATE TABLE theirs (x)');
  const before = readFileSync(path);
  assert.throws(() => openJournal(directory), isStartError(/is a database of another program$/));
  assert.ok(readFileSync(path).equals(before));
  const noDatabase = freshDirectory();
  writeFileSync(join(noDatabase, JOURNAL_FILE), 'not a database, but a text of some length'.repeat(40));
  assert.throws(() => openJournal(noDatabase), isStartError(/^cannot open .*journal\.db: /));
});

test('a transaction that throws leaves nothing behind', () => {
  using db = openJournal(freshDirectory());
  const insert = db.prepare('INSERT INTO meta VALUES (?, 1)');
  assert.throws(
    () =>
      inTransaction(db, () => {
        insert.run('a');
        throw new Error('on purpose');
      }),
    /on purpose/,
  );
  assert.equal(db.isTransaction, false);
  assert.equal(db.prepare('SELECT count(*) AS n FROM meta').get()?.['n'], 0);
});

test('a failed read reports its cause, also if SQLite has ended the transaction itself', () => {
  using db = openJournal(freshDirectory());
  const fail = () => {
    db.exec('ROLLBACK');
    throw new Error('the page is damaged');
  };
  assert.throws(() => inOneState(db, fail), /the page is damaged/);
  assert.equal(
    inOneState(db, () => db.isTransaction),
    true,
  );
  assert.equal(db.isTransaction, false);
});

test('the origin of the log is settled by the first start and cannot change', () => {
  let ids = 0;
  const nextId = () => `01KE00000000000000000000${String(++ids).padStart(2, '0')}`;
  const directory = freshDirectory();
  {
    using db = openJournal(directory);
    const first = settleInstallation(db, { logOrigin: undefined, nextId });
    assert.deepEqual(first, {
      installationId: '01KE0000000000000000000001',
      logOrigin: 'tallystick.local/01KE0000000000000000000001',
    });
  }
  using db = openJournal(directory);
  const again = settleInstallation(db, { logOrigin: undefined, nextId });
  assert.equal(again.logOrigin, 'tallystick.local/01KE0000000000000000000001');
  assert.throws(
    () => settleInstallation(db, { logOrigin: 'audit.example.com', nextId }),
    isStartError(/^Log__Origin is audit\.example\.com; this installation has signed as tallystick\.local/),
  );
  using named = openJournal(freshDirectory());
  assert.equal(
    settleInstallation(named, { logOrigin: 'audit.example.com', nextId }).logOrigin,
    'audit.example.com',
  );
});
