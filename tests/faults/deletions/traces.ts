// Where a word is found in what a service keeps: in the bytes of every file of its data directory, write-ahead logs included, and in
// every value of every row of its databases, also where that is a compressed piece of the index. Of PostgreSQL the rows are what
// a dump has. Without any code of the service.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import { Client } from 'pg';
import type { Backend } from '../backends.ts';

/** The index keeps of a word what it does not have in common with the one before. */
const SHARED_MAX = 4;
/** Others are locks, and nobody else can open them. */
const DATABASES = ['journal.db', 'views.db', 'work.db'];
const COMPRESSED = Buffer.from('28b52ffd', 'hex');

/** A word that nothing else has, not even its first letters; of small letters and digits, so that the index keeps it as it is. */
export function newCanary(): string {
  return crypto.randomUUID().replaceAll('-', '');
}

/** The places that have it; none, where nothing of it is left. */
export async function tracesOf(canary: string, { start }: Pick<Backend, 'start'>): Promise<string[]> {
  const { dataDirectory, env } = start;
  const has = searchFor(canary);
  const found = new Set(
    filesIn(dataDirectory).filter((name) => has(readFileSync(join(dataDirectory, name)))),
  );
  for (const name of filesIn(dataDirectory).filter((each) => DATABASES.includes(each)))
    for (const [table, value] of valuesInFile(join(dataDirectory, name)))
      if (has(value)) found.add(`${name}: ${table}`);
  const url = env['Storage__Url'];
  if (url !== undefined)
    for (const [table, value] of await valuesInDatabase(url)) if (has(value)) found.add(table);
  return [...found];
}

function searchFor(canary: string): (value: unknown) => boolean {
  const words = [canary, canary.slice(SHARED_MAX)];
  const forms = words.flatMap((word) => [Buffer.from(word), Buffer.from(Buffer.from(word).toString('hex'))]);
  const hasForm = (bytes: Buffer) => forms.some((form) => bytes.includes(form));
  return (value) => {
    if (typeof value === 'string') return hasForm(Buffer.from(value.toLowerCase()));
    if (!(value instanceof Uint8Array)) return false;
    const bytes = Buffer.from(value);
    return hasForm(bytes) || (bytes.indexOf(COMPRESSED) === 0 && hasForm(opened(bytes)));
  };
}

function opened(bytes: Buffer): Buffer {
  try {
    return zstdDecompressSync(bytes);
  } catch {
    return Buffer.alloc(0);
  }
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(directory, name), { throwIfNoEntry: false })?.isFile(),
  );
}

function* valuesInFile(path: string): Generator<[table: string, value: unknown]> {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  for (const { name } of tables) {
    const rows = db.prepare(`SELECT * FROM "${String(name)}"`);
    rows.setReadBigInts(true);
    for (const row of rows.iterate()) for (const value of Object.values(row)) yield [String(name), value];
  }
}

async function valuesInDatabase(url: string): Promise<[table: string, value: unknown][]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const values: [string, unknown][] = [];
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'tallystick'`,
    );
    for (const { name } of tables.rows) {
      const { rows } = await client.query<unknown[]>({ text: `SELECT * FROM ${name}`, rowMode: 'array' });
      for (const row of rows) for (const value of row) values.push([name, value]);
    }
    return values;
  } finally {
    await client.end();
  }
}
