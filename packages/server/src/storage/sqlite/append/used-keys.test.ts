import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Once } from '../../../streams/log.ts';
import { COPIED_TABLES } from '../../rows/copied-tables.ts';
import { openJournal } from '../connection/database.ts';
import { CopiedRows } from '../copy/copied-rows.ts';
import { StoredKeys, UsedIdempotencyKeys } from './used-keys.ts';

/** As many as are moved together, and a few more. */
const MANY = 33_000;

function onceOf(key: string, note = '', expiresAtMs = 1000): Once {
  const fingerprint = new Uint8Array(64);
  return { operation: 'events.ingest', key, fingerprint, classification: 'Internal', expiresAtMs, note };
}

function withJournal(work: (db: DatabaseSync, another: () => DatabaseSync) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-keys-'));
  const opened: DatabaseSync[] = [];
  const open = () => {
    const db = openJournal(directory, { mayMigrate: true });
    opened.push(db);
    return db;
  };
  try {
    const db = open();
    db.exec(
      "INSERT INTO tenants (tenant, tenant_id, fingerprint_key, created_at_ms) VALUES (1, 'acme', x'00', 0)",
    );
    work(db, open);
  } finally {
    for (const db of opened) db.close();
    rmSync(directory, { recursive: true });
  }
}

const countIn = (db: DatabaseSync, table: string) =>
  Number(db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count']);

/** A different order than that of time. */
const keyOf = (i: number) => `${(i * 7919) % MANY}-${i}`;

function fill(db: DatabaseSync, keys: UsedIdempotencyKeys): void {
  db.exec('BEGIN');
  for (let i = 0; i < MANY; i++) {
    assert.equal(keys.find(1, onceOf(keyOf(i)), 0), undefined);
    keys.put(1, onceOf(keyOf(i), `note ${i}`), []);
  }
  db.exec('COMMIT');
}

test('keys are found before, while and after they are moved, by the one who moves them and by others', () => {
  withJournal((db, another) => {
    const keys = new UsedIdempotencyKeys(db);
    const reader = new StoredKeys(another());
    fill(db, keys);
    const some = [0, 1, 17, MANY / 2, MANY - 2, MANY - 1];
    const requireFound = () => {
      for (const i of some) {
        assert.equal(keys.find(1, onceOf(keyOf(i)), 0)?.note, `note ${i}`);
        assert.equal(reader.find(1, 'events.ingest', keyOf(i))?.['note'], `note ${i}`);
      }
      assert.equal(keys.find(1, onceOf('another'), 0), undefined);
      assert.equal(reader.find(1, 'events.ingest', 'another'), undefined);
    };
    requireFound();
    let steps = 1;
    for (; keys.moveSome(); steps++) if (steps % 20 === 0) requireFound();
    assert.ok(steps > 60, `${steps} steps`);
    assert.deepEqual([countIn(db, 'used_keys'), countIn(db, 'recent_keys')], [MANY - 1, 1]);
    requireFound();
    // One who has crashed in between finds the same.
    const afterwards = new UsedIdempotencyKeys(another());
    for (const i of some) assert.equal(afterwards.find(1, onceOf(keyOf(i)), 0)?.note, `note ${i}`);
    assert.equal(keys.moveSome(), false);
  });
});

test('a key whose window is over is used again, wherever its row is, and its last use counts', () => {
  withJournal((db) => {
    const keys = new UsedIdempotencyKeys(db);
    fill(db, keys);
    for (const i of [3, MANY - 1]) {
      while (keys.moveSome());
      assert.equal(keys.find(1, onceOf(keyOf(i)), 1001), undefined);
      keys.put(1, onceOf(keyOf(i), 'again', 2000), []);
      assert.equal(keys.find(1, onceOf(keyOf(i)), 1001)?.note, 'again');
    }
  });
});

test('keys are copied once each, wherever their rows are, as they were used last', () => {
  withJournal((db) => {
    const keys = new UsedIdempotencyKeys(db);
    fill(db, keys);
    while (keys.moveSome());
    keys.put(1, onceOf(keyOf(3), 'again', 2000), []);
    keys.put(1, onceOf(keyOf(3), 'once more', 3000), []);
    const copied = new CopiedRows(db, 'log.test');
    const table = COPIED_TABLES.find(({ name }) => name === 'used_keys')!;
    assert.equal(copied.count(table), MANY);
    const rows = [...copied.rows(table)];
    assert.equal(rows.length, MANY);
    assert.deepEqual(
      rows.filter(({ key }) => key === keyOf(3)).map(({ note }) => note),
      ['once more'],
    );
  });
});

test('rows of windows that are over are removed in portions', () => {
  withJournal((db) => {
    const keys = new UsedIdempotencyKeys(db);
    fill(db, keys);
    while (keys.moveSome());
    keys.put(1, onceOf('young', '', 5000), []);
    for (let i = 0; i < 3000; i++) keys.put(1, onceOf(`late-${i}`), []);
    keys.put(1, onceOf('youngest', '', 5000), []);
    while (keys.sweep(1000));
    assert.deepEqual([countIn(db, 'used_keys'), countIn(db, 'recent_keys')], [0, 2]);
  });
});
