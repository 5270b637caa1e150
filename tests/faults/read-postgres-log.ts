// The log as it lies in PostgreSQL, read and checked without any code of the service: by SQL and SHA-256 alone.

import { Client } from 'pg';
import { checkedLog, type EventInLog, type LogRow } from './read-log.ts';

export async function readPostgresLog(url: string): Promise<Map<string, EventInLog[]>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('SET search_path = tallystick');
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    const meta = await client.query<{ value: string }>("SELECT value FROM meta WHERE name = 'log_origin'");
    const { rows } = await client.query<LogRow & { leaf_index: string }>(
      `SELECT tenant_id, leaf_index, entry, leaf, root1, root2, text1, text2, seeds FROM entries
       LEFT JOIN contents USING (tenant_id, leaf_index) ORDER BY tenant_id, leaf_index`,
    );
    const streams = await client.query<{ tenant_id: string; first_index: string }>(
      'SELECT tenant_id, first_index FROM streams ORDER BY first_index',
    );
    return checkedLog(
      rows.map((row) => ({ ...row, leaf_index: Number(row.leaf_index) })),
      meta.rows[0]!.value,
      (tenant) =>
        streams.rows.filter((row) => row.tenant_id === tenant).map((row) => Number(row.first_index)),
    );
  } finally {
    await client.end();
  }
}
