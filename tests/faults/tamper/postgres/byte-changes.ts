// Changes of single bytes in a database: every cell of every column that is evidence. Cells that are none, though their
// column is, are named here with the reason.

import { SEED_BYTES } from '../../../../packages/server/src/storage/pool/commitments.ts';
import { EVIDENCE_COLUMNS } from '../../../../packages/server/src/storage/postgres/fsck/columns.ts';
import { type ByteChange, bytesOf, type Cell, integerIn } from '../byte-changes.ts';
import type { Say } from './tampered-database.ts';

/** The columns by which a row is found. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  meta: ['name'],
  tenants: ['tenant_id'],
  heads: ['tenant_id'],
  entries: ['tenant_id', 'leaf_index'],
  contents: ['tenant_id', 'leaf_index', 'content_month'],
  streams: ['tenant_id', 'first_index'],
  checkpoints: ['tenant_id', 'epoch', 'size'],
  tile_hashes: ['tenant_id', 'epoch', 'level', 'place'],
  epochs: ['tenant_id', 'epoch'],
  records: ['tenant_id', 'kind', 'id'],
  past_records: ['tenant_id', 'kind', 'id', 'version'],
  deletions: ['tenant_id', 'first_index'],
  decisions: ['tenant_id', 'decision'],
  redactions: ['tenant_id', 'leaf_index', 'notice_index'],
  tenant_keys: ['tenant_id', 'key_id'],
};

const IS_PURGED = `NOT EXISTS (SELECT 1 FROM contents
  WHERE contents.tenant_id = entries.tenant_id AND contents.leaf_index = entries.leaf_index)`;

/** Cells in columns of evidence that are none, each with the condition by which SQL finds it. */
const CELLS_WITHOUT_EVIDENCE: readonly { column: string; where: string; why: string }[] = [
  { column: 'meta.value', where: "name <> 'log_origin'", why: 'no log speaks of it' },
  { column: 'entries.classification', where: IS_PURGED, why: 'it says who may see a content that is purged' },
  { column: 'entries.content_month', where: IS_PURGED, why: 'it says where a content was that is purged' },
  { column: 'entries.event_id', where: 'true', why: 'the database makes it of the entry' },
  {
    column: 'contents.key_id',
    where: 'key_id IS NULL',
    why: 'it has no byte; that it is set is a named change',
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
const BYTES_WITHOUT_EVIDENCE: readonly { column: string; from: number; where: string; why: string }[] = [
  {
    column: 'contents.seeds',
    from: SEED_BYTES,
    where: "text2 = '\\x7b7d'",
    why: 'the seed of a group without units salts nothing',
  },
];

export async function cellsOf(say: Say, only?: readonly string[]): Promise<Cell[]> {
  const cells: Cell[] = [];
  for (const [table, columns] of Object.entries(EVIDENCE_COLUMNS)) {
    if (only !== undefined && !only.includes(table)) continue;
    for (const column of Object.keys(columns)) cells.push(...(await cellsIn(say, table, column)));
  }
  return cells;
}

async function cellsIn(say: Say, table: string, column: string): Promise<Cell[]> {
  const keys = KEYS[table]!;
  const name = `${table}.${column}`;
  const without = CELLS_WITHOUT_EVIDENCE.find((each) => each.column === name);
  const part = BYTES_WITHOUT_EVIDENCE.find((each) => each.column === name);
  const end = part === undefined ? 'NULL' : `CASE WHEN ${part.where} THEN ${part.from} END`;
  const rows = await say(
    `SELECT ${keys.join(', ')}, ${column} AS value, ${end} AS "end" FROM ${table}
     WHERE NOT (${without?.where ?? 'false'}) ORDER BY ${keys.join(', ')}`,
  );
  const isOfEntry = table === 'entries' || table === 'contents';
  return rows.map((row) => ({
    table,
    column,
    key: keys.map((key) => row[key] as Cell['value']),
    value: row['value'] as Cell['value'],
    evidenceBytes: Number(row['end'] ?? Infinity),
    tenant: keys.includes('tenant_id') ? String(row['tenant_id']) : undefined,
    index: isOfEntry ? Number(row['leaf_index']) : undefined,
  }));
}

/** What a text cannot hold in a database, no byte of one becomes. */
const FIRST_PRINTABLE = 0x20;
const LAST_PRINTABLE = 0x7e;

/** Changes one byte in the database; false where the database cannot hold that. */
export async function change(say: Say, { cell, byte, way }: ByteChange, bit: number): Promise<boolean> {
  const bytes = bytesOf(cell);
  const isText = typeof cell.value === 'string';
  const was = bytes[byte]!;
  if (way === 'bit') bytes[byte] = was ^ (1 << bit);
  else if (way === 'next') bytes[byte] = (was + 1) % 256;
  else if (isText) bytes[byte] = was === FIRST_PRINTABLE ? LAST_PRINTABLE : FIRST_PRINTABLE;
  else bytes[byte] = was === 0 ? 255 : 0;
  const { table, column, key } = cell;
  const where = KEYS[table]!.map((name, i) => `${name} = $${i + 2}`).join(' AND ');
  const value = isText ? bytes.toString() : typeof cell.value === 'number' ? integerIn(bytes) : bytes;
  if (isText && !Buffer.from(String(value)).equals(bytes)) return false;
  await say('SAVEPOINT one');
  try {
    await say(`UPDATE ${table} SET ${column} = $1 WHERE ${where}`, [value, ...key]);
    return true;
  } catch (error) {
    if (!isRefused(error)) throw error;
    await say('ROLLBACK TO one');
    return false;
  }
}

/** Another row has that key, there is no such partition, or the type has no such value. */
function isRefused(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return ['23505', '23514', '22003', '22021'].includes(code);
}
