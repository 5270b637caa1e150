// The fastest that the database takes the rows of a log, in a process of its own: COPY into a temporary table, since COPY is
// refused under row-level security, and from there into the tables, in the role of who writes, durable at each commit.
// The rows are those that the service has stored, as another tenant's; nothing is parsed, hashed, looked up or indexed by words.
// Prints one line of JSON with what it saw. Settings arrive as JSON in the first argument.

import { Client } from 'pg';
import { SCHEMA } from '../../packages/server/src/storage/postgres/connection/database.ts';
import { DATABASE_ROLES, TENANTS_SETTING } from '../../packages/server/src/storage/postgres/schema/rights.ts';
import { percentile } from '../measure.ts';
import { copyIn, copyOut } from './copy.ts';
import type { LoadSeen } from './observed.ts';

export interface StagedCopy {
  /** The database that the service stores in, and the tenant whose rows are taken. */
  readonly from: string;
  readonly tenant: string;
  /** One with the same tables. */
  readonly to: string;
  readonly durationMs: number;
}

/** As many as eight requests of 500 together: what the service commits at once. */
const ROWS = 4000;
const PORTIONS_MAX = 3;
const WARM_UP_MS = 500;

const COLUMNS =
  'leaf_index, classification, content_month, entry, leaf, root1, root2, text1, text2, seeds, sent_fingerprint, expires_at_ms';
const STAGE = `CREATE TEMPORARY TABLE stage (leaf_index bigint, classification smallint, content_month integer, entry bytea,
  leaf bytea, root1 bytea, root2 bytea, text1 bytea, text2 bytea, seeds bytea, sent_fingerprint bytea, expires_at_ms bigint)
  ON COMMIT DELETE ROWS`;
const ENTRIES = `INSERT INTO entries (tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2)
  SELECT $1, leaf_index, classification, content_month, entry, leaf, root1, root2 FROM stage`;
const CONTENTS = `INSERT INTO contents (tenant_id, leaf_index, content_month, text1, text2, seeds, sent_fingerprint, expires_at_ms)
  SELECT $1, leaf_index, content_month, text1, text2, seeds, sent_fingerprint, expires_at_ms FROM stage`;

async function run({ from, tenant, to, durationMs }: StagedCopy): Promise<LoadSeen> {
  const [source, target] = [await connected(from), await connected(to)];
  const portions = await portionsOf(source, tenant);
  const months = await source.query<{ month: number }>(
    'SELECT DISTINCT content_month AS month FROM contents',
  );
  for (const { month } of months.rows) await target.query('SELECT ensure_content_month($1)', [month]);
  await target.query(`SET ROLE ${DATABASE_ROLES.Writer}`);
  await target.query(STAGE);
  const latencies: number[] = [];
  const started = Date.now().toString(36);
  const countedFrom = performance.now() + WARM_UP_MS;
  let endedAt = 0;
  for (let i = 0; endedAt < countedFrom + durationMs; i++) {
    const beganAt = performance.now();
    const of = `copied-${started}-${Math.floor(i / portions.length)}`;
    await commit(target, of, portions[i % portions.length]!);
    endedAt = performance.now();
    if (beganAt >= countedFrom) latencies.push(endedAt - beganAt);
  }
  await source.end();
  await target.end();
  return seenOf(latencies);
}

/** Of whole commits only, one behind the other: the time of those is the time. */
function seenOf(latencies: readonly number[]): LoadSeen {
  const perSecond = (1000 * latencies.length) / latencies.reduce((sum, each) => sum + each, 0);
  return {
    requestsPerSecond: perSecond,
    eventsPerSecond: perSecond * ROWS,
    p50Ms: percentile(latencies, 0.5),
    p95Ms: percentile(latencies, 0.95),
    p99Ms: percentile(latencies, 0.99),
    refused: {},
  };
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`SET search_path = ${SCHEMA}`);
  return client;
}

/** Each as the bytes that COPY takes. */
async function portionsOf(source: Client, tenant: string): Promise<Buffer[]> {
  const heads = await source.query<{ next: number }>(
    'SELECT next_index::integer AS next FROM heads WHERE tenant_id = $1',
    [tenant],
  );
  const count = Math.min(PORTIONS_MAX, Math.floor((heads.rows[0]?.next ?? 0) / ROWS));
  if (count === 0) throw new Error(`${tenant} has fewer than ${ROWS} events to take`);
  const portions: Buffer[] = [];
  for (let i = 0; i < count; i++)
    portions.push(
      await copyOut(
        source,
        `COPY (SELECT ${COLUMNS} FROM entries JOIN contents USING (tenant_id, leaf_index, content_month)
           WHERE tenant_id = '${tenant}' AND leaf_index >= ${i * ROWS} AND leaf_index < ${(i + 1) * ROWS} ORDER BY leaf_index)
         TO STDOUT (FORMAT binary)`,
      ),
    );
  return portions;
}

async function commit(target: Client, tenant: string, portion: Buffer): Promise<void> {
  await target.query(`BEGIN; SET LOCAL synchronous_commit = on; SET LOCAL ${TENANTS_SETTING} = '${tenant}'`);
  await copyIn(target, 'COPY stage FROM STDIN (FORMAT binary)', portion);
  await target.query({ name: 'entries', text: ENTRIES, values: [tenant] });
  await target.query({ name: 'contents', text: CONTENTS, values: [tenant] });
  await target.query('COMMIT');
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2]!) as StagedCopy))}\n`);
