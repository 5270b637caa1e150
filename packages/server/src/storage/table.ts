// What the catalogue of tables says of a table.

export type Backend = 'SQLite' | 'PostgreSQL';

/**
 * PostgreSQL types; SQLite has one for texts, one for integers and one for bytes. `!`: never null. `=`: made by the
 * database.
 */
type ColumnType = `${'text' | 'bytea' | 'smallint' | 'integer' | 'bigint'}${'' | '!' | '!='}`;

export interface Column {
  readonly type: ColumnType;
  /** The data that it is compared with; undefined if it is not evidence. */
  readonly evidence?: string;
  /** Why it is not evidence. */
  readonly not?: string;
  /** The only backend that has it. */
  readonly only?: Backend;
  /** Each backend derives it from other columns, so it is not copied. */
  readonly isMade?: true;
}

export type Right = 'SELECT' | `SELECT (${string})` | 'INSERT' | 'UPDATE' | `UPDATE (${string})` | 'DELETE';

/** Roles of PostgreSQL: see postgres/schema/rights.ts. */
export type DatabaseRole = 'Writer' | 'Reader' | 'Projector' | 'Retention' | 'Verifier';
export type Rights = Partial<Record<DatabaseRole, readonly Right[]>>;

export interface Table {
  /** Whether each row belongs to one tenant, or all to the installation. */
  readonly of: 'Tenant' | 'Installation';
  readonly only?: Backend;
  readonly rights: Rights;
  /** Why none of it is evidence. */
  readonly not?: string;
  /** Unique per row; rows are copied in this order. Undefined: the table is not copied. */
  readonly key?: readonly string[];
  /** The unique columns on PostgreSQL, if they differ from the key. */
  readonly unique?: readonly string[];
  /** Set for tables that are evidence or are copied. */
  readonly columns?: Readonly<Record<string, Column>>;
  /** The column with the index in the log that a row of evidence belongs to. */
  readonly place?: string;
}
