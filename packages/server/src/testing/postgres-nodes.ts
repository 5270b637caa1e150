// Nodes on one PostgreSQL database, for tests: only their logs, and the rows behind them.

import assert from 'node:assert/strict';
import { Client } from 'pg';
import { decodeEntry, equalBytes, genesisHash, leafHash } from '@tallystick/evidence';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { STREAMS } from '../storage/conformance/claims.ts';
import { PoolCommitter } from '../storage/pool/pool-commitments.ts';
import { Database, type DatabaseOptions, SCHEMA } from '../storage/postgres/connection/database.ts';
import { createLog } from './postgres-log.ts';
import { migrate } from '../storage/postgres/schema/migrate.ts';
import type { LogReader, LogWriter, StreamLimits } from '../streams/log.ts';
import { PATIENT_LIMITS } from './postgres-server.ts';

const ORIGIN = 'audit.example.com';

/** By which two minutes pass for five seconds: a log that another node has locked is waited for on a slow machine, too. */
const PATIENT_CLOCK: Clock = { ...systemClock, monotonicNs: () => systemClock.monotonicNs() / 24 };

export interface LogNode extends AsyncDisposable {
  readonly log: LogWriter & LogReader;
}

/** Makes the tables and the heads of these tenants. */
export async function prepareLogs(url: string, tenants: readonly string[]): Promise<void> {
  await using owner = new Database({ url, connectionsMax: 1, ...PATIENT_LIMITS });
  await migrate(owner, 'postgres');
  for (const tenant of tenants) await raw(url, 'INSERT INTO heads (tenant_id) VALUES ($1)', [tenant]);
}

/** As the superuser, past all rights. */
export async function raw(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`SET search_path = ${SCHEMA}`);
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

export function startLogNode(
  url: string,
  streams: StreamLimits = STREAMS,
  more: Pick<DatabaseOptions, 'isDistributed'> = {},
): LogNode {
  const random = createSystemRandom();
  const writing = new Database({ url, connectionsMax: 1, ...PATIENT_LIMITS, ...more });
  const reading = new Database({ url, connectionsMax: 2, ...PATIENT_LIMITS, ...more });
  const nextId = createUlids(systemClock, random);
  const committer = new PoolCommitter(random);
  const parts = {
    writing,
    reading,
    committer,
    logOrigin: ORIGIN,
    streams,
    clock: PATIENT_CLOCK,
    random,
    nextId,
  };
  return {
    log: createLog(parts),
    async [Symbol.asyncDispose]() {
      await writing[Symbol.asyncDispose]();
      await reading[Symbol.asyncDispose]();
    },
  };
}

/** Each entry names the leaf before it, and is what was hashed; gives the ids of the events, in order. */
export async function requireOneHistory(url: string, tenant: string): Promise<string[]> {
  const rows = await raw(
    url,
    `SELECT entries.*, heads.next_index, heads.leaf AS head FROM heads LEFT JOIN entries USING (tenant_id)
     WHERE tenant_id = $1 ORDER BY leaf_index`,
    [tenant],
  );
  const entries = rows.filter((row) => row['entry'] !== null);
  let previous = genesisHash(`${ORIGIN}/t/${tenant}`);
  const ids = entries.map((row, i) => {
    const bytes = Uint8Array.from(row['entry'] as Buffer);
    const entry = decodeEntry(bytes);
    assert.deepEqual([Number(row['leaf_index']), entry.index], [i, i]);
    assert.ok(equalBytes(entry.previous, previous), `entry ${i} of ${tenant} names the leaf before it`);
    previous = leafHash(bytes);
    assert.ok(equalBytes(Uint8Array.from(row['leaf'] as Buffer), previous));
    return entry.eventId;
  });
  assert.equal(Number(rows[0]!['next_index']), ids.length);
  if (ids.length > 0) assert.ok(equalBytes(Uint8Array.from(rows[0]!['head'] as Buffer), previous));
  return ids;
}
