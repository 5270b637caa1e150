// Where words are found in what a service keeps: in the bytes of every file of its data directory, write-ahead logs included, and in
// every value of every row of its databases, also where that is a compressed piece of the index. Of PostgreSQL the rows are what
// a dump has. Without any code of the service.

import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import { Client } from 'pg';
import type { Backend } from '../backends.ts';

/** The index keeps of a word what it does not have in common with the one before. */
const SHARED_MAX = 4;
const CANARY_BYTES = 16;
const KEPT = 2 * CANARY_BYTES - SHARED_MAX;
const HEX = new RegExp(`[0-9a-f]{${KEPT},}`, 'g');
/** Others are locks, and nobody else can open them. */
const DATABASES = ['journal.db', 'views.db', 'work.db'];
const COMPRESSED = Buffer.from('28b52ffd', 'hex');

/** A word that nothing else has, not even its first letters; of small letters and digits, so that the index keeps it as it is. */
export function newCanary(): string {
  return randomBytes(CANARY_BYTES).toString('hex');
}

/** The places that have one of them, each with a word that is there; none, where nothing of them is left. */
export async function tracesOf(
  canaries: readonly string[],
  { start }: Pick<Backend, 'start'>,
): Promise<string[]> {
  const { dataDirectory, env } = start;
  const found = new Map<string, string>();
  const look = (place: string, value: unknown) => {
    const word = found.has(place) ? undefined : search(value);
    if (word !== undefined) found.set(place, word);
  };
  const search = searchFor(canaries);
  for (const name of filesIn(dataDirectory)) {
    look(name, readFileSync(join(dataDirectory, name)));
    if (!DATABASES.includes(name)) continue;
    for (const [table, value] of valuesInFile(join(dataDirectory, name))) look(`${name}: ${table}`, value);
  }
  const url = env['Storage__Url'];
  if (url !== undefined) for (const [table, value] of await valuesInDatabase(url)) look(table, value);
  return [...found].map(([place, word]) => `${place} has ${word}`);
}

function searchFor(canaries: readonly string[]): (value: unknown) => string | undefined {
  const known = new Map(canaries.map((canary) => [canary.slice(SHARED_MAX), canary]));
  const inText = (text: string): string | undefined => {
    for (const [digits] of text.matchAll(HEX)) {
      for (let at = 0; at + KEPT <= digits.length; at++) {
        const canary = known.get(digits.slice(at, at + KEPT));
        if (canary !== undefined) return canary;
      }
      // The bytes of a word, as digits.
      const spelled =
        digits.length < 2 * KEPT ? undefined : inText(Buffer.from(digits, 'hex').toString('latin1'));
      if (spelled !== undefined) return spelled;
    }
    return undefined;
  };
  return (value) => {
    if (typeof value === 'string') return inText(value.toLowerCase());
    if (!(value instanceof Uint8Array)) return undefined;
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    const text = inText(bytes.toString('latin1'));
    return text ?? (bytes.indexOf(COMPRESSED) === 0 ? inText(opened(bytes)) : undefined);
  };
}

function opened(bytes: Buffer): string {
  try {
    return zstdDecompressSync(bytes).toString('latin1');
  } catch {
    return '';
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
