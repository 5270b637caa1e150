// A database with all tables and nothing in them. Each test takes tenants of its own: to make a database takes long.

import type { TenantId } from '@tallystick/contract';
import { Client } from 'pg';
import { createMigrated } from '../../../testing/migrated-database.ts';
import { type Databases, openDatabases, PATIENT_LIMITS } from '../../../testing/postgres-server.ts';
import { Database, SCHEMA } from '../connection/database.ts';

export class TestTables implements AsyncDisposable {
  readonly url: string;
  readonly database: Database;
  readonly #server: Databases;
  #tenants = 0;

  private constructor(url: string, server: Databases) {
    this.#server = server;
    this.url = url;
    this.database = new Database({ url, connectionsMax: 10, ...PATIENT_LIMITS });
  }

  static async open(): Promise<TestTables> {
    const server = await openDatabases();
    return new TestTables(await createMigrated(server), server);
  }

  /** One whose log is empty. */
  async newTenant(): Promise<TenantId> {
    return (await this.newTenants(1))[0]!;
  }

  async newTenants(count: number): Promise<TenantId[]> {
    const tenants = Array.from({ length: count }, () => `tenant-${++this.#tenants}`);
    await this.raw(
      `INSERT INTO tenants (tenant_id, fingerprint_key, created_at_ms)
       SELECT tenant, decode(repeat(md5(tenant), 2), 'hex'), 0 FROM unnest($1::text[]) AS tenant`,
      [tenants],
    );
    await this.raw('INSERT INTO heads (tenant_id) SELECT unnest($1::text[])', [tenants]);
    return tenants;
  }

  /** As the owner of all tables. */
  async raw(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url });
    await client.connect();
    try {
      await client.query(`SET search_path = ${SCHEMA}`);
      return (await client.query<Record<string, unknown>>(sql, values)).rows;
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
  }
}
