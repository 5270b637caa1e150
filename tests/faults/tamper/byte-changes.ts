// Changes of single bytes: every cell of every column that is evidence, and in how many ways a byte of it is changed.
// Cells that are none, though their column is, are named here with the reason.

import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import { SEED_BYTES } from '../../../packages/server/src/storage/pool/commitments.ts';
import { EVIDENCE_COLUMNS } from '../../../packages/server/src/storage/sqlite/fsck/columns.ts';

export interface Cell {
  readonly table: string;
  readonly column: string;
  readonly key: readonly SQLOutputValue[];
  readonly value: SQLOutputValue;
  /** So many of its bytes, at most, are evidence. */
  readonly evidenceBytes: number;
  /** Of the entry that it belongs to. */
  readonly tenant: string | undefined;
  readonly index: number | undefined;
}

export interface ByteChange {
  readonly cell: Cell;
  readonly byte: number;
  readonly way: Way;
}

export type Way = 'bit' | 'next' | 'edge';
export const WAYS: readonly Way[] = ['bit', 'next', 'edge'];

/** The columns by which a row is found; those of `entries` are written anew whole, which no trigger sees. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  meta: ['name'],
  tenants: ['tenant'],
  entries: ['id'],
  contents: ['id'],
  streams: ['tenant', 'first_index'],
  checkpoints: ['tenant', 'epoch', 'size'],
  tile_hashes: ['tenant', 'epoch', 'level', 'place'],
  epochs: ['tenant', 'epoch'],
  records: ['tenant', 'kind', 'id'],
  past_records: ['tenant', 'kind', 'id', 'version'],
  deletions: ['tenant', 'first_index'],
  decisions: ['tenant', 'decision'],
  redactions: ['tenant', 'leaf_index', 'notice_index'],
  tenant_keys: ['tenant', 'key_id'],
};
const ENTRY_COLUMNS = ['id', 'tenant', 'leaf_index', 'classification', 'entry', 'leaf', 'root1', 'root2'];

/** Cells in columns of evidence that are none, each with the condition by which SQL finds it. */
export const CELLS_WITHOUT_EVIDENCE: readonly { column: string; where: string; why: string }[] = [
  { column: 'meta.value', where: "name <> 'log_origin'", why: 'no log speaks of it' },
  {
    column: 'entries.classification',
    where: 'id NOT IN (SELECT id FROM contents)',
    why: 'it says who may see a content, and the content is purged',
  },
  { column: 'entries.event_id', where: 'true', why: 'it is a piece of the column `entry`' },
  {
    column: 'contents.key_id',
    where: 'key_id IS NULL',
    why: 'it has no byte; that it is set is among the named changes',
  },
  { column: 'contents.closed', where: 'closed IS NULL', why: 'it has no byte' },
  { column: 'contents.expires_at_ms', where: 'expires_at_ms IS NULL', why: 'it has no byte' },
  { column: 'contents.decision', where: 'decision IS NULL', why: 'it has no byte' },
  { column: 'records.unique_name', where: 'unique_name IS NULL', why: 'it has no byte' },
  { column: 'records.lookup', where: 'lookup IS NULL', why: 'it has no byte' },
  { column: 'records.id', where: "id = ''", why: 'it has no byte' },
  { column: 'past_records.unique_name', where: 'unique_name IS NULL', why: 'it has no byte' },
  { column: 'past_records.lookup', where: 'lookup IS NULL', why: 'it has no byte' },
];

/** Bytes of cells that are evidence otherwise: all from one on. */
export const BYTES_WITHOUT_EVIDENCE: readonly { column: string; from: number; where: string; why: string }[] =
  [
    {
      column: 'contents.seeds',
      from: SEED_BYTES,
      where: "text2 = x'7b7d'",
      why: 'the seed of a group without units salts nothing',
    },
  ];

export function cellsOf(db: DatabaseSync, only?: readonly string[]): Cell[] {
  return Object.entries(EVIDENCE_COLUMNS)
    .filter(([table]) => only === undefined || only.includes(table))
    .flatMap(([table, columns]) => Object.keys(columns).flatMap((column) => cellsIn(db, table, column)));
}

function cellsIn(db: DatabaseSync, table: string, column: string): Cell[] {
  const without = CELLS_WITHOUT_EVIDENCE.find((each) => each.column === `${table}.${column}`);
  const keys = KEYS[table]!;
  const place =
    table === 'entries'
      ? 'tenant AS t, leaf_index AS i'
      : table === 'contents'
        ? `(SELECT tenant FROM entries WHERE entries.id = contents.id) AS t,
           (SELECT leaf_index FROM entries WHERE entries.id = contents.id) AS i`
        : `${keys.includes('tenant') ? 'tenant' : 'NULL'} AS t, NULL AS i`;
  const part = BYTES_WITHOUT_EVIDENCE.find((each) => each.column === `${table}.${column}`);
  const end = part === undefined ? 'NULL' : `CASE WHEN ${part.where} THEN ${part.from} END`;
  const rows = db.prepare(
    `SELECT ${keys.join(', ')}, ${column} AS value, ${end} AS "end", ${place} FROM ${table}
     WHERE NOT (${without?.where ?? 'false'})`,
  );
  rows.setReturnArrays(true);
  const name = db.prepare('SELECT tenant_id FROM tenants WHERE tenant = ?');
  return (rows.all() as unknown as SQLOutputValue[][]).map((row) => ({
    table,
    column,
    key: row.slice(0, keys.length),
    value: row[keys.length]!,
    evidenceBytes: Number(row[keys.length + 1] ?? Infinity),
    tenant: row.at(-2) === null ? undefined : String(name.get(row.at(-2)!)?.['tenant_id']),
    index: row.at(-1) === null ? undefined : Number(row.at(-1)),
  }));
}

/** How many bytes there are to change: of an integer as many as SQLite stores, of 0 and 1 one. */
export function bytesOf({ value }: Cell): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (typeof value === 'string') return Buffer.from(value);
  if (typeof value !== 'number') return Buffer.alloc(0);
  const length = [1, 2, 3, 4, 6, 8].find((bytes) => value < 2 ** (8 * bytes - 1)) ?? 8;
  const whole = Buffer.alloc(8);
  whole.writeBigInt64BE(BigInt(value));
  return whole.subarray(8 - length);
}

/** Changes one byte in the database; false where the database cannot hold that. */
export function change(db: DatabaseSync, { cell, byte, way }: ByteChange, bit: number): boolean {
  const bytes = bytesOf(cell);
  const was = bytes[byte]!;
  if (way === 'bit') bytes[byte] = was ^ (1 << bit);
  else if (way === 'next') bytes[byte] = (was + 1) % 256;
  else bytes[byte] = was === 0 ? 255 : 0;
  const rows = () => db.prepare(`SELECT count(*) AS count FROM ${cell.table}`).get()!['count'];
  const before = rows();
  db.exec('SAVEPOINT one');
  try {
    write(db, cell, bytes);
    // Another row that had the key was replaced: that would be two changes.
    if (rows() === before) return true;
  } catch (error) {
    // Another row has that key.
    if (!(error instanceof Error) || !/constraint/i.test(error.message)) throw error;
  }
  db.exec('ROLLBACK TO one');
  return false;
}

function write(db: DatabaseSync, { table, column, key, value }: Cell, bytes: Buffer): void {
  const isText = typeof value === 'string';
  const changed: SQLInputValue = typeof value === 'number' ? integerIn(bytes) : bytes;
  const placeholder = isText ? 'CAST(? AS TEXT)' : '?';
  const where = KEYS[table]!.map((name) => `${name} = ?`).join(' AND ');
  if (table === 'entries') {
    const columns = ENTRY_COLUMNS.map((name) => (name === column ? placeholder : name)).join(', ');
    // Nothing else fires no trigger: a row that is replaced is not deleted, and not updated.
    const sql = `INSERT OR REPLACE INTO entries (${ENTRY_COLUMNS.join(', ')}) SELECT ${columns} FROM entries WHERE ${where}`;
    db.prepare(sql).run(changed, ...(key as SQLInputValue[]));
    return;
  }
  db.prepare(`UPDATE ${table} SET ${column} = ${placeholder} WHERE ${where}`).run(
    changed,
    ...(key as SQLInputValue[]),
  );
}

export function integerIn(bytes: Buffer): number | bigint {
  return bytes.length === 8 ? bytes.readBigInt64BE() : bytes.readIntBE(0, bytes.length);
}

/** A small generator of chance with a seed, so that what was found can be found again. */
export function chanceFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
