// The rows of journal.db to copy, in the order of their keys, and their logs.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { StoredCheckpoint } from '../../../streams/tree.ts';
import { ColumnError, numberOrNone } from '../../rows/columns.ts';
import type { CopiedKind, CopiedRow, CopiedTable, CopiedValue } from '../../rows/copied-tables.ts';
import { type LogIdentity, TreeTables } from '../tree/tree-tables.ts';

interface Source {
  readonly from: string;
  /** Expressions for columns that the table itself does not have. */
  readonly columns: Readonly<Record<string, string>>;
}

const NAME_OF_TENANT = { tenant_id: 'tenants.tenant_id' };

/** Tenants are read by name, and the rows of each by its number: no sorting is needed. */
function ofTenant(table: string, more = '', columns: Readonly<Record<string, string>> = {}): Source {
  return {
    from: `tenants CROSS JOIN ${table} USING (tenant) ${more}`,
    columns: { ...NAME_OF_TENANT, ...columns },
  };
}

const COLUMNS = 'tenant, operation, key, fingerprint, classification, expires_at_ms, note, outcomes';
/** Each once, as it was used last. */
const ALL_USED_KEYS = `SELECT ${COLUMNS} FROM used_keys WHERE (tenant, operation, key) NOT IN
    (SELECT tenant, operation, key FROM recent_keys)
  UNION ALL SELECT ${COLUMNS} FROM recent_keys WHERE id IN
    (SELECT max(id) FROM recent_keys GROUP BY tenant, operation, key)`;

const SOURCES: Readonly<Record<string, Source>> = {
  tenants: { from: 'tenants', columns: {} },
  api_key_uses: { from: 'api_key_uses', columns: {} },
  entries: ofTenant('entries', 'LEFT JOIN contents USING (id)', { expires_at_ms: 'contents.expires_at_ms' }),
  used_keys: {
    from: `tenants CROSS JOIN (${ALL_USED_KEYS}) AS used_keys USING (tenant)`,
    columns: NAME_OF_TENANT,
  },
  contents: ofTenant('entries', 'CROSS JOIN contents USING (id)', { leaf_index: 'entries.leaf_index' }),
  heads: {
    from: `tenants LEFT JOIN entries ON entries.tenant = tenants.tenant AND leaf_index =
      (SELECT max(leaf_index) FROM entries AS newest WHERE newest.tenant = tenants.tenant)`,
    columns: { ...NAME_OF_TENANT, next_index: 'coalesce(leaf_index + 1, 0)', leaf: 'entries.leaf' },
  },
};

export class CopiedRows {
  readonly #db: DatabaseSync;
  readonly #trees: TreeTables;
  readonly #nextBegin: StatementSync;

  constructor(db: DatabaseSync, logOrigin: string) {
    this.#db = db;
    this.#trees = new TreeTables(db, logOrigin);
    this.#nextBegin = db.prepare(
      'SELECT min(first_index) AS first_index FROM epochs WHERE tenant = ? AND epoch > ?',
    );
  }

  /** The rows after this key. Throws EvidenceError if a column does not match the schema. */
  *rows(table: CopiedTable, after?: readonly CopiedValue[]): Generator<CopiedRow> {
    const columns = Object.entries(table.columns);
    const statement = this.#statement(table, after !== undefined);
    statement.setReturnArrays(true);
    // The statement returns arrays, which its type does not show.
    const rows = statement.iterate(...(after ?? [])) as Iterable<unknown> as Iterable<readonly unknown[]>;
    for (const values of rows) {
      const row: Record<string, CopiedValue> = {};
      for (const [i, [column, kind]] of columns.entries())
        row[column] = valueOf(`${table.name}.${column}`, kind, values[i]);
      yield row;
    }
  }

  /** The log that holds this index of the tenant's sequence. */
  log(tenant: TenantId, index: number): LogIdentity | undefined {
    return this.#trees.log(tenant, index);
  }

  /** The first index of the log that follows this one after a restore. */
  nextBegin({ tenant, epoch }: LogIdentity): number | undefined {
    return numberOrNone(this.#nextBegin.get(tenant, epoch), 'first_index');
  }

  latest(log: LogIdentity): StoredCheckpoint | undefined {
    return this.#trees.latest(log);
  }

  count(table: CopiedTable): number {
    const [rows] = Object.values(
      this.#db.prepare(`SELECT count(*) AS rows FROM ${sourceOf(table).from}`).get() ?? {},
    );
    return Number(rows);
  }

  #statement(table: CopiedTable, isBehind: boolean): StatementSync {
    const { from, columns } = sourceOf(table);
    const named = (column: string) => columns[column] ?? `${table.name}.${column}`;
    const key = table.key.map(named);
    // The first condition is redundant, but lets SQLite use the index.
    const behind = `WHERE ${key[0]} >= ?1 AND (${key.join(', ')}) > (${key.map((_, i) => `?${i + 1}`).join(', ')})`;
    return this.#db.prepare(
      `SELECT ${Object.keys(table.columns).map(named).join(', ')} FROM ${from}
       ${isBehind ? behind : ''} ORDER BY ${key.join(', ')}`,
    );
  }
}

function sourceOf({ name }: CopiedTable): Source {
  return SOURCES[name] ?? ofTenant(name);
}

function valueOf(column: string, kind: CopiedKind, value: unknown): CopiedValue {
  if (value === null) return null;
  if (kind === 'Text' && typeof value === 'string') return value;
  if (kind === 'Whole' && typeof value === 'number') return value;
  if (kind === 'Bytes' && value instanceof Uint8Array) return value;
  throw new ColumnError(`column ${column} holds ${typeof value}`);
}
