import assert from 'node:assert/strict';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { describe, it } from 'node:test';
import { EvidenceError } from '@tallystick/evidence';
import type { LogRow } from '../../fsck/log-row.ts';
import { FIRST_INTEGER, LAST_INTEGER, LogRows } from './rows.ts';

type Change = Readonly<Record<string, SQLInputValue>>;

/** Tables that accept any value, like the pages of a tampered file. */
function storeOf(count: number, changes: Readonly<Record<number, Change>> = {}): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  db.exec(
    `CREATE TABLE entries (id INTEGER PRIMARY KEY, tenant, leaf_index, classification, entry, leaf, root1, root2);
     CREATE UNIQUE INDEX entries_by_index ON entries (tenant, leaf_index);
     CREATE TABLE contents (id INTEGER PRIMARY KEY, text1, text2, seeds, key_id, closed,
       expires_at_ms, decision);
     CREATE TABLE tenants (tenant, tenant_id);
     CREATE TABLE tenant_keys (tenant, key_id, over_id, sealed)`,
  );
  const entry = db.prepare('INSERT INTO entries VALUES (?, 1, ?, ?, ?, ?, ?, ?)');
  const content = db.prepare('INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  for (let i = 0; i < count; i++) {
    const row: Change = { ...usual(i), ...changes[i] };
    const of = (...names: string[]) => names.map((name) => row[name]!);
    entry.run(2 * i, ...of('leaf_index', 'classification', 'entry', 'leaf', 'root1', 'root2'));
    const contents = of('text1', 'text2', 'seeds', 'key_id', 'closed', 'expires_at_ms', 'decision');
    if (row['purged'] !== 1) content.run(2 * i, ...contents);
  }
  return db;
}

/** Bytes that are not a text, in every length that a text can have. */
function usual(i: number): Change {
  const bytes = (length: number, of: number) => new Uint8Array(length).map((_, at) => (i + at) * of);
  return {
    leaf_index: i,
    classification: i % 4,
    entry: bytes(116, 1),
    leaf: bytes(32, 3),
    root1: bytes(32, 5),
    root2: bytes(32, 7),
    text1: bytes(i % 40, 11),
    text2: bytes((i * 7) % 300, 13),
    seeds: bytes(32, 17),
    key_id: null,
    closed: null,
    expires_at_ms: i % 3 === 0 ? null : 1e12 + i,
    decision: i % 5 === 0 ? null : 2 ** 48 - i,
  };
}

const COLUMNS: Readonly<Record<string, string>> = { expiresAtMs: 'expires_at_ms' };

function lotsOf(db: DatabaseSync): LogRow[][] {
  const rows = new LogRows(db);
  const lots: LogRow[][] = [];
  for (let first: SQLInputValue = FIRST_INTEGER; ; ) {
    const lot = rows.lot(1, first, LAST_INTEGER);
    if (lot.length === 0) return lots;
    lots.push(lot);
    first = lot.at(-1)!.sequenceIndex + 1;
  }
}

function requireRow(row: LogRow, expected: Change): void {
  const { sequenceIndex, content, ...own } = row;
  const found = { leaf_index: sequenceIndex, ...own, ...content };
  for (const [name, value] of Object.entries(found)) {
    if (expected['key_id'] !== null && content !== undefined && name in content) {
      if (name === 'sealedFault') assert.match(String(value), /there is no keyring to open it/);
    } else if (name === 'sealedFault') assert.equal(value, undefined);
    else if (value instanceof Uint8Array) assert.deepEqual(Uint8Array.from(value), expected[name], name);
    else assert.equal(value ?? null, expected[COLUMNS[name] ?? name], name);
  }
  assert.equal(content === undefined, expected['purged'] === 1);
}

function requireRows(count: number, changes: Readonly<Record<number, Change>> = {}): void {
  using db = storeOf(count, changes);
  const rows = lotsOf(db).flat();
  assert.equal(rows.length, count);
  for (const [i, row] of rows.entries()) requireRow(row, { ...usual(i), ...changes[i] });
}

describe('the rows of a log', () => {
  it('are the stored ones, for any bytes', () => {
    for (const count of [0, 1, 255, 256, 257, 600]) requireRows(count);
  });

  it('are the stored ones if some are purged, sealed, or too large to be joined', () => {
    const large = { text1: new Uint8Array(3_000_000).fill(1), text2: new Uint8Array(3_000_000).fill(2) };
    requireRows(600, { 3: { purged: 1 }, 299: { key_id: 'k' }, 599: large });
    requireRows(300, Object.fromEntries(Array.from({ length: 280 }, (_, i) => [i, { purged: 1 }])));
  });

  it('show columns of another length as they are, also where their sum is as usual', () => {
    const moved = { entry: new Uint8Array(117), leaf: new Uint8Array(31) };
    requireRows(3, { 1: moved });
    requireRows(3, { 1: { seeds: new Uint8Array(31), text1: new Uint8Array(9), text2: new Uint8Array(0) } });
  });

  it('are refused where a column holds another type, also one that has the same bytes', () => {
    const text = 'x'.repeat(32);
    for (const column of ['leaf', 'root1', 'root2', 'seeds', 'text1', 'text2'])
      for (const value of [text, 7, 1.5, null])
        requireRefused({ [column]: value }, `${column} ${String(value)}`);
    for (const value of ['x'.repeat(116), 7, null])
      requireRefused({ entry: value }, `entry ${String(value)}`);
    for (const value of ['1', null, new Uint8Array(1)])
      requireRefused({ classification: value }, `classification ${String(value)}`);
  });

  it('have their new state if they are purged during the read', () => {
    using db = storeOf(3);
    let lookedAt = 0;
    db.function('is_there', () => Number(lookedAt++ < 3));
    db.exec(
      `ALTER TABLE contents RENAME TO stored;
       CREATE VIEW contents AS SELECT * FROM stored WHERE is_there()`,
    );
    const [rows] = lotsOf(db);
    for (const [i, row] of rows!.entries()) requireRow(row, { ...usual(i), purged: 1 });
    assert.deepEqual([rows!.length, lookedAt], [3, 9]);
  });

  it('keep their place where indexes are missing', () => {
    using db = storeOf(5, { 2: { leaf_index: 20 }, 3: { leaf_index: 30 }, 4: { leaf_index: -4 } });
    assert.deepEqual(
      lotsOf(db).flatMap((rows) => rows.map(({ sequenceIndex }) => sequenceIndex)),
      [-4, 0, 1, 20, 30],
    );
  });
});

function requireRefused(change: Change, what: string): void {
  using db = storeOf(3, { 1: change });
  assert.throws(
    () => lotsOf(db),
    (error) => error instanceof EvidenceError && error.reason === 'MALFORMED',
    what,
  );
}
