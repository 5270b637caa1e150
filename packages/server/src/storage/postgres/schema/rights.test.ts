// The catalogue of a migrated database (P8), and its effect.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { type PostgresServer, startPostgres } from '../../../testing/postgres-server.ts';
import { ALL_TENANTS, Database, type DatabaseScope, SCHEMA, statement } from '../connection/database.ts';
import { migrate, requireReady } from './migrate.ts';
import { COMMON_TABLES, DATABASE_ROLES } from './rights.ts';

let server: PostgresServer;
let url: string;
let database: Database;
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  database = new Database({ url, connectionsMax: 4 });
  await migrate(database, 'postgres');
});
after(async () => {
  await database?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

async function asked(sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

const TABLES = `SELECT c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = '${SCHEMA}' AND c.relkind IN ('r', 'p')`;

describe('the catalogue', () => {
  test('every table but those of the installation has a tenant, and the security of rows is enabled and forced', async () => {
    const tables = await asked(
      `SELECT t.relname, t.relrowsecurity AND t.relforcerowsecurity AS secured,
         EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = t.oid AND attname = 'tenant_id' AND attnotnull) AS tenant
       FROM (${TABLES}) AS t ORDER BY t.relname`,
    );
    assert.ok(tables.length > 25, `${tables.length} tables with their partitions`);
    assert.deepEqual(
      tables
        .filter(({ secured, tenant }) => secured !== true || tenant !== true)
        .map(({ relname }) => relname),
      Object.keys(COMMON_TABLES).toSorted(),
    );
  });

  test('every unique key begins with the tenant', async () => {
    const indexes = await asked(
      `SELECT t.relname, pg_get_indexdef(i.indexrelid, 1, true) AS first FROM (${TABLES}) AS t
       JOIN pg_index AS i ON i.indrelid = t.oid WHERE i.indisunique AND t.relname <> ALL (ARRAY['${Object.keys(COMMON_TABLES).join("', '")}'])`,
    );
    assert.ok(indexes.length > 40);
    for (const { relname, first } of indexes) assert.equal(first, 'tenant_id', String(relname));
  });

  test('no role that serves owns a table, is a superuser, or bypasses the policies', async () => {
    const names = Object.values(DATABASE_ROLES).map((role) => `'${role}'`);
    const roles = await asked(
      `SELECT rolname, rolsuper OR rolbypassrls OR rolcanlogin OR rolcreaterole OR
         EXISTS (SELECT 1 FROM pg_class WHERE relowner = pg_roles.oid) AS mighty
       FROM pg_roles WHERE rolname IN (${names.join(',')})`,
    );
    assert.equal(roles.length, names.length);
    for (const { rolname, mighty } of roles) assert.equal(mighty, false, String(rolname));
  });

  test('no role may change or remove entries of the log', async () => {
    const rights = await asked(
      `SELECT table_name || ' ' || grantee || ' ' || privilege_type AS right FROM information_schema.role_table_grants
       WHERE table_schema = '${SCHEMA}' AND grantee LIKE 'tallystick%' AND privilege_type NOT IN ('SELECT', 'INSERT')
       ORDER BY 1`,
    );
    assert.deepEqual(
      rights.map(({ right }) => right),
      [
        'api_key_uses tallystick_projector UPDATE',
        'api_keys tallystick_writer DELETE',
        'checkpoints tallystick_projector UPDATE',
        'contents tallystick_retention DELETE',
        'heads tallystick_writer UPDATE',
        'index_blocks tallystick_projector DELETE',
        'index_blocks tallystick_projector UPDATE',
        'index_manifests tallystick_projector DELETE',
        'index_manifests tallystick_projector UPDATE',
        'jobs tallystick_projector DELETE',
        'jobs tallystick_projector UPDATE',
        'jobs tallystick_writer DELETE',
        'jobs tallystick_writer UPDATE',
        'lanes tallystick_projector DELETE',
        'lanes tallystick_projector UPDATE',
        'lanes tallystick_writer DELETE',
        'lanes tallystick_writer UPDATE',
        'leases tallystick_projector UPDATE',
        'meta tallystick_writer UPDATE',
        'nodes tallystick_projector DELETE',
        'nodes tallystick_projector UPDATE',
        'positions tallystick_projector DELETE',
        'positions tallystick_projector UPDATE',
        'records tallystick_writer UPDATE',
        'refused_logs tallystick_projector DELETE',
        'refused_logs tallystick_projector UPDATE',
        'refused_logs tallystick_writer DELETE',
        'tenant_keys tallystick_writer UPDATE',
        'tenants tallystick_writer UPDATE',
        'used_keys tallystick_projector DELETE',
        'used_keys tallystick_writer DELETE',
        'used_keys tallystick_writer UPDATE',
        'violations tallystick_writer DELETE',
        'violations tallystick_writer UPDATE',
        'windows tallystick_projector DELETE',
        'windows tallystick_projector UPDATE',
        'windows tallystick_writer DELETE',
      ],
    );
  });
});

const INSERT = statement(`INSERT INTO heads (tenant_id) VALUES ($1)`);
const READ = statement('SELECT tenant_id FROM heads ORDER BY tenant_id');

async function seen(scope: DatabaseScope): Promise<unknown[]> {
  return (await database.read(scope, READ)).map(({ tenant_id: tenant }) => tenant);
}

test('a transaction sees the tenants that were named for it, and writes for no other', async () => {
  for (const tenant of ['acme', 'beta', 'gamma'])
    await database.inTransaction({ role: 'Writer', tenants: [tenant] }, (t) => t.change(INSERT, [tenant]));
  assert.deepEqual(await seen({ role: 'Reader', tenants: ['acme'] }), ['acme']);
  assert.deepEqual(await seen({ role: 'Reader', tenants: ['acme', 'gamma'] }), ['acme', 'gamma']);
  assert.deepEqual(await seen({ role: 'Reader', tenants: [] }), []);
  assert.deepEqual(await seen(ALL_TENANTS), ['acme', 'beta', 'gamma']);
  await assert.rejects(
    database.inTransaction({ role: 'Writer', tenants: ['acme'] }, (t) => t.change(INSERT, ['delta'])),
    /row-level security/,
  );
  await assert.rejects(
    database.inTransaction({ role: 'Reader', tenants: ['acme'] }, (t) => t.change(INSERT, ['acme'])),
    /permission denied/,
  );
  // The next transaction on the same connection inherits nothing.
  assert.deepEqual(await seen({ role: 'Reader', tenants: [] }), []);
});

test('control: without the role that a transaction takes on, the owner sees everything', async () => {
  const rows = await asked(`SELECT tenant_id FROM ${SCHEMA}.heads`);
  assert.equal(rows.length, 3);
});

test('migrating again changes nothing, by several at once too', async () => {
  await Promise.all([1, 2, 3].map(() => migrate(database, 'postgres')));
  await requireReady(database);
});

test('a database that may lose acknowledged data is refused', async () => {
  const name = new URL(url).pathname.slice(1);
  await asked(`ALTER DATABASE ${name} SET synchronous_commit = off`);
  await using forgetful = new Database({ url, connectionsMax: 1 });
  await assert.rejects(requireReady(forgetful), /synchronous_commit off/);
});

test('a database without tables says how they are made', async () => {
  await using empty = new Database({ url: await server.createDatabase(), connectionsMax: 1 });
  await assert.rejects(requireReady(empty), /no tables of this service; `tallystick migrate`/);
});
