// The claims of every backend, on a Citus cluster. `CITUS_URL` names a database on its coordinator that nobody uses, with the
// extension: what is in its tables is removed for each claim. It is no part of `npm test`, which has no cluster;
// docs/operating/scale.md says how it is run.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Client } from 'pg';
import { Database, SCHEMA } from '../../packages/server/src/storage/postgres/database.ts';
import { migrate } from '../../packages/server/src/storage/postgres/migrate.ts';
import { TENANT_TABLES } from '../../packages/server/src/storage/postgres/rights.ts';
import { ALL_CLAIMS } from '../../packages/server/src/storage/conformance/all-claims.ts';
import { placeAt } from '../../packages/server/src/testing/postgres-claims.ts';

const url = process.env['CITUS_URL'] ?? '';
const user = decodeURIComponent(new URL(url || 'postgres://nobody@nowhere').username);

before(async () => {
  assert.ok(url !== '', 'CITUS_URL names a database on the coordinator of a cluster');
  await using owner = new Database({ url, connectionsMax: 1 });
  await migrate(owner, user, { distribute: true });
});

async function empty(): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  for (const table of Object.keys(TENANT_TABLES)) await client.query(`DELETE FROM ${SCHEMA}.${table}`);
  await client.query(`DELETE FROM ${SCHEMA}.meta WHERE name <> 'schema_version'`);
  await client.query('COMMIT');
  await client.end();
}

describe('Citus', () => {
  for (const [claim, holds] of ALL_CLAIMS) {
    it(claim, async () => {
      await empty();
      await using place = placeAt(url);
      await holds(place);
    });
  }
});
