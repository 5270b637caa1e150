// How many bytes log and views take where they are stored, with their indexes.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { SCHEMA } from '../packages/server/src/storage/postgres/connection/database.ts';

export interface StoredBytes {
  readonly log: number;
  readonly views: number;
}

export function filesOf(dataDirectory: string): StoredBytes {
  const bytesOf = (name: string) =>
    readdirSync(dataDirectory)
      .filter((file) => file.startsWith(name))
      .reduce((sum, file) => sum + statSync(join(dataDirectory, file)).size, 0);
  return { log: bytesOf('journal.db'), views: bytesOf('views.db') };
}

/** Partitions are tables with a name that goes on. */
export async function tablesOf(databaseUrl: string): Promise<StoredBytes> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ views: boolean; bytes: number }>(
    `SELECT relname ~ '^index_' AS views, sum(pg_total_relation_size(oid))::float8 AS bytes
     FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind = 'r' GROUP BY 1`,
  );
  await client.end();
  const bytesOf = (views: boolean) => rows.find((row) => row.views === views)?.bytes ?? 0;
  return { log: bytesOf(false), views: bytesOf(true) };
}
