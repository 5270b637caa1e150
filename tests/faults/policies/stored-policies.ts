// All versions of all policies as they lie in the store, deleted ones too, read without any code of the service.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Policy } from '@tallystick/contract';
import type { Backend } from '../backends.ts';

export interface StoredVersion extends Pick<Policy, 'policyId' | 'version' | 'policyType' | 'rules'> {
  readonly tenant: string;
  readonly state: Policy['status'];
  /** Of its notice. */
  readonly noticeId: string;
}

interface Row {
  readonly tenant_id: string;
  readonly id: string;
  readonly version: number | string;
  readonly body: string;
}

const versionsIn = (owners: string) =>
  ['records', 'past_records']
    .map((table) => `SELECT tenant_id, id, version, body FROM ${table} ${owners} WHERE kind = 'Policy'`)
    .join(' UNION ALL ');

export async function storedPolicies({ start }: Pick<Backend, 'start'>): Promise<StoredVersion[]> {
  const url = start.env['Storage__Url'];
  const rows = url === undefined ? rowsInFile(start.dataDirectory) : await rowsInDatabase(url);
  return rows.map(({ tenant_id: tenant, id: policyId, version, body }) => {
    const content = JSON.parse(body) as Pick<StoredVersion, 'policyType' | 'rules' | 'state' | 'noticeId'>;
    const { policyType, rules, state, noticeId } = content;
    return { tenant, policyId, version: Number(version), policyType, rules, state, noticeId };
  });
}

function rowsInFile(dataDirectory: string): Row[] {
  const database = new DatabaseSync(join(dataDirectory, 'journal.db'), { readOnly: true });
  try {
    return database.prepare(versionsIn('JOIN tenants USING (tenant)')).all() as unknown as Row[];
  } finally {
    database.close();
  }
}

async function rowsInDatabase(url: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('SET search_path = tallystick');
    return (await client.query<Row>(versionsIn(''))).rows;
  } finally {
    await client.end();
  }
}
