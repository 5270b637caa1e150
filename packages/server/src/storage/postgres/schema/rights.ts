// The rights of roles. No serving role may change or remove entries of the log; all except the loops of a node see only
// the tenants named for the transaction. For each transaction a node takes on the role that it needs and no more, as
// one user or as several (logins.ts).

import type { DatabaseRole, Rights, Table } from '../../table.ts';
import { tablesOf } from '../../tables.ts';

/** Roles of transactions; none of them can log in, owns anything, or bypasses row policies. */
export const DATABASE_ROLES = {
  /** Appends to logs, and changes keys and tenants. */
  Writer: 'tallystick_writer',
  /** Answers requests. */
  Reader: 'tallystick_reader',
  /** Does work for all tenants: signs, follows and scans logs. */
  Projector: 'tallystick_projector',
  /** Removes expired content. */
  Retention: 'tallystick_retention',
  /** Reads the evidence of all tenants, and nothing else: for verifications of the database. */
  Verifier: 'tallystick_verifier',
} as const satisfies Readonly<Record<DatabaseRole, string>>;

/** The setting with the tenants of a transaction, separated by commas. */
export const TENANTS_SETTING = 'app.tenants';
/** The setting with the hash of the presented key, in hex: it makes the row of that key visible. */
export const KEY_SETTING = 'app.key_hash';

const rightsIn = (of: Table['of']): Readonly<Record<string, Rights>> =>
  Object.fromEntries(
    tablesOf('PostgreSQL')
      .filter(([, table]) => table.of === of)
      .map(([name, { rights }]) => [name, rights]),
  );

/** Tables with a tenant in every row, and the rights of each role. Everything else is denied. */
export const TENANT_TABLES = rightsIn('Tenant');

/** Tables of the whole installation. */
export const COMMON_TABLES = rightsIn('Installation');

const NAMED_TENANTS = `string_to_array(current_setting('${TENANTS_SETTING}', true), ',')`;
const NAMED_HASH = `coalesce(current_setting('${KEY_SETTING}', true), '')`;

/** A subquery in a policy runs once per query, not per row; but distributed tables do not allow it. */
function policiesOf(isDistributed: boolean): { readonly ownTenants: string; readonly shownKey: string } {
  const asked = (text: string) => (isDistributed ? text : `(SELECT ${text})`);
  return {
    ownTenants: `tenant_id = ANY (${asked(NAMED_TENANTS)}::text[])`,
    shownKey: `lookup = decode(${asked(NAMED_HASH)}, 'hex')`,
  };
}

/** The roles that see the rows of all tenants. */
function seeingAll(rights: Rights): string {
  const roles = ['Projector' as const, ...(rights.Verifier === undefined ? [] : ['Verifier' as const])];
  return roles.map((role) => DATABASE_ROLES[role]).join(', ');
}

/** All rights: run after every migration; repeating it changes nothing. */
export function rightsOf(schema: string, isDistributed: boolean): string[] {
  const roles = Object.values(DATABASE_ROLES);
  const { ownTenants, shownKey } = policiesOf(isDistributed);
  const seeingOwn = [DATABASE_ROLES.Writer, DATABASE_ROLES.Reader, DATABASE_ROLES.Retention];
  const statements = [
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${roles.join(', ')}, PUBLIC`,
    `GRANT USAGE ON SCHEMA ${schema} TO ${roles.join(', ')}`,
  ];
  for (const [table, rights] of Object.entries(COMMON_TABLES)) statements.push(...grants(table, rights));
  for (const [table, rights] of Object.entries(TENANT_TABLES)) {
    statements.push(
      `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
      `ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`,
      `DROP POLICY IF EXISTS own_tenants ON ${table}`,
      `CREATE POLICY own_tenants ON ${table} TO ${seeingOwn.join(', ')} USING (${ownTenants})`,
      `DROP POLICY IF EXISTS all_tenants ON ${table}`,
      `CREATE POLICY all_tenants ON ${table} TO ${seeingAll(rights)} USING (true)`,
    );
    statements.push(...grants(table, rights));
  }
  statements.push(
    'DROP POLICY IF EXISTS shown_key ON records',
    `CREATE POLICY shown_key ON records FOR SELECT TO ${DATABASE_ROLES.Reader}, ${DATABASE_ROLES.Writer} USING (${shownKey})`,
  );
  return statements;
}

function grants(table: string, rights: Rights): string[] {
  return Object.entries(rights).map(
    ([role, allowed]) => `GRANT ${allowed.join(', ')} ON ${table} TO ${DATABASE_ROLES[role as DatabaseRole]}`,
  );
}
