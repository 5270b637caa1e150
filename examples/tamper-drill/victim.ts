// A copy of the store that may be tampered with. It writes down what is done to it, so that the drill can show it.

import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { Trail } from './make-trail.ts';

/** The guards against accidents. An attacker who can write the file can remove them, and put them back afterwards. */
const TRIGGERS = ['entries_do_not_change', 'entries_stay'];

export class Victim {
  readonly directory: string;
  /** What was done, line by line. */
  readonly done: string[] = [];

  constructor({ store }: Trail, directory: string) {
    cpSync(store, directory, { recursive: true });
    this.directory = directory;
    // A copy is open to all, and a signing key that others can read is refused.
    chmodSync(this.path('signing-keys'), 0o700);
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  say(line: string): void {
    this.done.push(line);
  }

  read<T>(work: (db: DatabaseSync) => T): T {
    using db = new DatabaseSync(this.path('journal.db'), { readOnly: true });
    return work(db);
  }

  /** Runs statements on the database, with the triggers out of the way. */
  write(work: (run: (sql: string, ...values: SQLInputValue[]) => void, db: DatabaseSync) => void): void {
    using db = new DatabaseSync(this.path('journal.db'));
    const triggers = TRIGGERS.map((name) =>
      db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(name),
    );
    for (const name of TRIGGERS) db.exec(`DROP TRIGGER ${name}`);
    work((sql, ...values) => {
      this.say(sql);
      db.prepare(sql).run(...values);
    }, db);
    for (const trigger of triggers) db.exec(String(trigger?.['sql']));
  }

  /** Replaces words in a file. */
  edit(name: string, change: (text: string) => string): void {
    const before = readFileSync(this.path(name), 'utf8');
    writeFileSync(this.path(name), change(before));
  }
}
