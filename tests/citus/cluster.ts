// A Citus cluster: `CITUS_URL` names a database on its coordinator that nobody uses, with the extension. What is in its tables
// is removed for each test.

import assert from 'node:assert/strict';
import { Client } from 'pg';
import { Database, SCHEMA } from '../../packages/server/src/storage/postgres/connection/database.ts';
import { migrate } from '../../packages/server/src/storage/postgres/schema/migrate.ts';
import { TENANT_TABLES } from '../../packages/server/src/storage/postgres/schema/rights.ts';

export const CLUSTER_URL = process.env['CITUS_URL'] ?? '';

export async function prepareCluster(): Promise<void> {
  assert.ok(CLUSTER_URL !== '', 'CITUS_URL names a database on the coordinator of a cluster');
  await using owner = new Database({ url: CLUSTER_URL, connectionsMax: 1 });
  await migrate(owner, decodeURIComponent(new URL(CLUSTER_URL).username), { distribute: true });
}

export async function emptyCluster(): Promise<void> {
  const client = new Client({ connectionString: CLUSTER_URL });
  await client.connect();
  await client.query('BEGIN');
  for (const table of Object.keys(TENANT_TABLES)) await client.query(`DELETE FROM ${SCHEMA}.${table}`);
  await client.query(`DELETE FROM ${SCHEMA}.meta WHERE name <> 'schema_version'`);
  await client.query('COMMIT');
  await client.end();
}
