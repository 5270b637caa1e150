// witness.db: the latest checkpoint of each log that the witness has cosigned. What `advance` has stored is on the disk
// when it returns (WAL, synchronous FULL), and it stores only if the latest is still the one that the caller looked at:
// of two that start from one size, in this process or in another on the same file, one wins. The database itself
// refuses to make a log smaller, to give a size a second root, and to forget a log. Where it cannot be written, what is
// on the disk is not known any more, and the witness has to end.

import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { type Checkpoint, epochIn, sha256, toHex } from '@tallystick/evidence';
import { CannotRun } from '../cannot-run.ts';
import { syncFolder } from '../durable-file.ts';

export interface Head extends Checkpoint {
  /** The checkpoint with the log's signatures and the witness's cosignature. */
  readonly note: string;
}

export interface Heads extends Disposable {
  latest(origin: string): Head | undefined;
  /** By the SHA-256 of the origin, in hexadecimal. */
  latestByHash(originHash: string): Head | undefined;
  /** Of the log that goes before this one by its name, `<name>/2` after `<name>/1`: the newest that was cosigned. */
  before(origin: string): Head | undefined;
  /** Whether `next` was stored: only if `from` is still the latest. */
  advance(from: Head | undefined, next: Head): boolean;
  /** In the order of their names. */
  list(countMax: number): { readonly origin: string; readonly size: number }[];
  count(): number;
  /** The verifier key of the witness whose heads these are; undefined before it has one. */
  owner(): string | undefined;
  setOwner(verifierKey: string): void;
}

/** Something was to be stored, and nobody knows whether it is. */
export class HeadsBroken extends Error {
  override readonly name = 'HeadsBroken';
}

export const HEADS_FILE = 'witness.db';

/** "TalW": tells the file from any other SQLite database. */
const APPLICATION_ID = 0x54616c57;
const BUSY_TIMEOUT_MS = 5000;

const SCHEMA = `
  CREATE TABLE head (
    origin_hash TEXT PRIMARY KEY, origin TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL, root BLOB NOT NULL, note TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), verifier_key TEXT NOT NULL) STRICT;
  CREATE TRIGGER head_grows BEFORE UPDATE ON head
    WHEN NEW.origin <> OLD.origin OR NEW.size < OLD.size OR (NEW.size = OLD.size AND NEW.root <> OLD.root)
    BEGIN SELECT RAISE(ABORT, 'a head only grows'); END;
  CREATE TRIGGER head_stays BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'a head is never forgotten'); END;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = 1;`;

export function originHash(origin: string): string {
  return toHex(sha256(new TextEncoder().encode(origin)));
}

export function openHeads(directory: string): Heads {
  const path = join(directory, HEADS_FILE);
  // Made by us, because the database would make it readable by others.
  closeSync(openSync(path, 'a', 0o600));
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    prepare(db, path);
    syncFolder(directory);
    return headsIn(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepare(db: DatabaseSync, path: string): void {
  // Before anything is set: a file that is not ours stays as it is.
  const isNew = pragma(db, 'user_version') === 0 && pragma(db, 'schema_version') === 0;
  if (!isNew && (pragma(db, 'user_version') !== 1 || pragma(db, 'application_id') !== APPLICATION_ID)) {
    throw new CannotRun(`${path} is not the file of a witness of this version`);
  }
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
  // Somebody else may have been faster.
  if (pragma(db, 'user_version') === 0) db.exec(SCHEMA);
  db.exec('COMMIT');
  // Read back: what a driver thinks best must not decide whether a cosignature outlives its state.
  if (pragma(db, 'journal_mode') !== 'wal' || pragma(db, 'synchronous') !== 2) {
    throw new CannotRun(`${path} cannot be written durably here`);
  }
}

function headsIn(db: DatabaseSync): Heads {
  const columns = 'SELECT origin, size, root, note FROM head';
  const byHash = db.prepare(`${columns} WHERE origin_hash = ?`);
  const insert = db.prepare(
    'INSERT INTO head (size, root, note, origin_hash, origin) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const update = db.prepare(
    'UPDATE head SET size = ?, root = ?, note = ? WHERE origin_hash = ? AND origin = ? AND size = ? AND root = ?',
  );
  // Names below the first one, the highest number first; '0' is what follows '/'.
  const family = db.prepare(
    `SELECT origin FROM head WHERE origin = ?1 OR (origin > ?1 || '/' AND origin < ?1 || '0')
     ORDER BY length(origin) DESC, origin DESC`,
  );
  let isBroken = false;
  const latestByHash = (hash: string) => {
    const row = byHash.get(hash);
    return row === undefined ? undefined : headIn(row);
  };
  return {
    latestByHash,
    latest: (origin) => latestByHash(originHash(origin)),
    before(origin) {
      const { first, epoch } = epochIn(origin);
      if (epoch === 0) return undefined;
      for (const row of family.iterate(first)) {
        const other = String(row['origin']);
        const named = epochIn(other);
        if (named.first === first && named.epoch < epoch) return latestByHash(originHash(other));
      }
      return undefined;
    },
    advance(from, { origin, size, root, note }) {
      const values = [size, root, note, originHash(origin), origin] as const;
      if (isBroken) throw new HeadsBroken('something could not be stored before');
      try {
        const { changes } =
          from === undefined ? insert.run(...values) : update.run(...values, from.size, from.root);
        return changes === 1;
      } catch (cause) {
        // A disk that failed once may take the next for written and still not have this one.
        isBroken = true;
        throw new HeadsBroken(`cannot store what was cosigned: ${String(cause)}`, { cause });
      }
    },
    list: (countMax) => db.prepare(`${columns} ORDER BY origin LIMIT ?`).all(countMax).map(headIn),
    count: () => Number(db.prepare('SELECT count(*) AS count FROM head').get()!['count']),
    owner: () => db.prepare('SELECT verifier_key FROM owner').get()?.['verifier_key']?.toString(),
    setOwner: (key) => void db.prepare('INSERT INTO owner VALUES (1, ?)').run(key),
    [Symbol.dispose]: () => db.close(),
  };
}

function headIn({ origin, size, root, note }: Record<string, SQLOutputValue>): Head {
  if (typeof origin === 'string' && typeof size === 'number' && typeof note === 'string') {
    if (root instanceof Uint8Array) return { origin, size, root, note };
  }
  throw new HeadsBroken('a stored head cannot be read');
}

function pragma(db: DatabaseSync, name: string): unknown {
  return Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}
