// Who may do what. Nobody who serves requests may change or remove what is in the log; everybody but the loops of a node
// sees only the tenants that were named for the transaction. A node takes on for each transaction the role that it needs and
// no more, as one user or as several (logins.ts).

import { type Rights, type Role, type Table, tablesOf } from '../../tables.ts';
import { partsOf } from './partitions.ts';

/** Roles that a transaction takes on; none of them can log in, owns anything, or passes by the policies of rows. */
export const ROLES = {
  /** Appends to logs, and changes keys and tenants. */
  Writer: 'tallystick_writer',
  /** Answers requests. */
  Reader: 'tallystick_reader',
  /** Does what concerns all tenants: signs logs, follows them, looks through them. */
  Projector: 'tallystick_projector',
  /** Removes content whose time is over. */
  Retention: 'tallystick_retention',
  /**
   * Finds docs by their terms, for one statement of a reader, and sees nothing else. Row security keeps an index of terms
   * from being used at all, because what compares them might tell of rows that are hidden. So no row of docs is hidden from
   * this role, and its statements name the tenant; what they give is looked up by the reader.
   */
  Searcher: 'tallystick_searcher',
  /** Reads what is evidence, of all tenants, and nothing else: for whoever verifies the database. */
  Verifier: 'tallystick_verifier',
} as const satisfies Readonly<Record<Role, string>>;

/** The setting that names the tenants of a transaction, one behind the other with a comma between. */
export const TENANTS_SETTING = 'app.tenants';
/** The setting that holds the hash of the key that somebody has shown, in hex: it opens the row of that key. */
export const KEY_SETTING = 'app.key_hash';

const rightsIn = (of: Table['of']): Readonly<Record<string, Rights>> =>
  Object.fromEntries(
    tablesOf('PostgreSQL')
      .filter(([, table]) => table.of === of)
      .map(([name, { rights }]) => [name, rights]),
  );

/** Tables with a tenant in every row, and what each role may do with them. What is not said is not allowed. */
export const TENANT_TABLES = rightsIn('Tenant');

/** Tables of the installation as a whole. */
export const COMMON_TABLES = rightsIn('Installation');

const NAMED_TENANTS = `string_to_array(current_setting('${TENANTS_SETTING}', true), ',')`;
const NAMED_HASH = `coalesce(current_setting('${KEY_SETTING}', true), '')`;

/** A question within a policy is asked once for each query, not for each row; but where tables are distributed, none may be. */
function policiesOf(isDistributed: boolean): { readonly ownTenants: string; readonly shownKey: string } {
  const asked = (text: string) => (isDistributed ? text : `(SELECT ${text})`);
  return {
    ownTenants: `tenant_id = ANY (${asked(NAMED_TENANTS)}::text[])`,
    shownKey: `lookup = decode(${asked(NAMED_HASH)}, 'hex')`,
  };
}

/**
 * What is read by a search besides docs. Where tables are distributed, whoever searches is the searcher for a whole
 * transaction, and not for single statements: another role has other connections to other machines, which see another state
 * of them. So it may read these too, of the tenants of the transaction.
 */
const SEARCHED = [
  'tenants',
  'heads',
  'streams',
  'entries',
  'contents',
  'deletions',
  'views',
  'view_keys',
  'view_counts',
];

/** Who sees the rows of all tenants. */
function seeingAll(rights: Rights): string {
  const more = (['Searcher', 'Verifier'] as const).filter((role) => rights[role] !== undefined);
  return ['Projector' as const, ...more].map((role) => ROLES[role]).join(', ');
}

/** All rights anew: run after every migration, and it says the same again. */
export function rightsOf(schema: string, isDistributed: boolean): string[] {
  const roles = Object.values(ROLES);
  const { ownTenants, shownKey } = policiesOf(isDistributed);
  const seeingOwn = [ROLES.Writer, ROLES.Reader, ROLES.Retention, ...(isDistributed ? [ROLES.Searcher] : [])];
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
    if (isDistributed && SEARCHED.includes(table))
      statements.push(...grants(table, { Searcher: ['SELECT'] }));
  }
  // By terms, docs are found in a part of them.
  for (const part of isDistributed ? [] : partsOf('docs'))
    statements.push(
      `DROP POLICY IF EXISTS all_tenants ON ${part}`,
      `CREATE POLICY all_tenants ON ${part} TO ${ROLES.Searcher} USING (true)`,
      ...grants(part, { Searcher: ['SELECT'] }),
    );
  statements.push(
    'DROP POLICY IF EXISTS shown_key ON records',
    `CREATE POLICY shown_key ON records FOR SELECT TO ${ROLES.Reader}, ${ROLES.Writer} USING (${shownKey})`,
  );
  return statements;
}

function grants(table: string, rights: Rights): string[] {
  return Object.entries(rights).map(
    ([role, allowed]) => `GRANT ${allowed.join(', ')} ON ${table} TO ${ROLES[role as Role]}`,
  );
}
