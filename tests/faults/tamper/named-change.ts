// A change that somebody makes to a database on purpose, with what must be found of it. Tenant 1 is acme, 2 is globex.

import type { DatabaseSync } from 'node:sqlite';
import type { Reason } from '@tallystick/evidence';
import type { Check } from '../../../packages/server/src/storage/fsck/checks.ts';

export interface NamedChange {
  readonly title: string;
  readonly on?: 'plain' | 'tiled';
  readonly tamper: (db: DatabaseSync) => void;
  readonly expected: readonly [tenant: string | undefined, reason: Reason, index?: number];
  /** The checks without which it is missed. */
  readonly control?: Check | readonly Check[];
}

/** Does what triggers forbid. */
export function unguarded(sql: string): (db: DatabaseSync) => void {
  return (db) => {
    const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${String(name)}`);
    db.exec(sql);
    for (const trigger of triggers) db.exec(String(trigger['sql']));
  };
}

export const idAt = (tenant: number, index: number) =>
  `(SELECT id FROM entries WHERE tenant = ${tenant} AND leaf_index = ${index})`;
