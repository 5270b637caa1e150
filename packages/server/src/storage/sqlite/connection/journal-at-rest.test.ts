import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { StartError } from '../../../start-error.ts';
import { openJournal } from './database.ts';
import { openUnwritten } from './journal-at-rest.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-at-rest-'));
after(() => rmSync(folder, { recursive: true }));

function freshDirectory(): string {
  const directory = mkdtempSync(join(folder, 'data-'));
  openJournal(directory).close();
  return directory;
}

const add = (directory: string, name: string) => {
  using db = openJournal(directory);
  db.prepare('INSERT INTO meta VALUES (?, 1)').run(name);
};

test('a journal at rest can be read from a read-only directory, and no file is added', () => {
  const directory = freshDirectory();
  add(directory, 'x');
  const before = readdirSync(directory);
  chmodSync(directory, 0o500);
  {
    using journal = openUnwritten(directory);
    assert.equal(journal.db.prepare("SELECT value FROM meta WHERE name = 'x'").get()?.['value'], 1);
    assert.deepEqual(readdirSync(directory), before);
    journal.requireUnchanged();
  }
  assert.deepEqual(readdirSync(directory), before);
  chmodSync(directory, 0o700);
});

test('a journal that changes during the read is reported', () => {
  const directory = freshDirectory();
  using journal = openUnwritten(directory);
  add(directory, 'y');
  assert.throws(() => journal.requireUnchanged(), StartError);
});

test('beside a writer it is read as usual, with what is in the write-ahead log', () => {
  const directory = freshDirectory();
  using db = openJournal(directory);
  db.prepare("INSERT INTO meta VALUES ('z', 1)").run();
  using journal = openUnwritten(directory);
  assert.equal(journal.db.prepare("SELECT value FROM meta WHERE name = 'z'").get()?.['value'], 1);
  db.prepare("INSERT INTO meta VALUES ('later', 1)").run();
  journal.requireUnchanged();
});

test('a journal that is a link is read with the write-ahead log that lies beside what it leads to', () => {
  const directory = freshDirectory();
  const linked = mkdtempSync(join(folder, 'linked-'));
  symlinkSync(join(directory, 'journal.db'), join(linked, 'journal.db'));
  using writer = openJournal(directory);
  writer.prepare("INSERT INTO meta VALUES ('z', 1)").run();
  using journal = openUnwritten(linked);
  assert.equal(journal.db.prepare("SELECT value FROM meta WHERE name = 'z'").get()?.['value'], 1);
});
