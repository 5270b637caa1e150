// The reads of the service, asked of PostgreSQL itself: by the same key and the same driver, with prepared statements of
// the owner of the tables. Nothing is checked, written as JSON or sent over HTTP.

import { Client } from 'pg';
import { eventIdBytes } from '@tallystick/evidence';
import { SCHEMA } from '../packages/server/src/storage/postgres/connection/database.ts';

const EVENTS = `SELECT entry, leaf, root1, root2, text1, text2, seeds
  FROM entries JOIN contents USING (tenant_id, leaf_index, content_month)`;
const EVENT = `${EVENTS} WHERE tenant_id = $1 AND event_id = $2`;
const PAGE = `${EVENTS} WHERE tenant_id = $1 AND leaf_index >= 0 ORDER BY leaf_index LIMIT $2`;
const NEWEST = `${EVENTS} WHERE tenant_id = $1 ORDER BY leaf_index DESC LIMIT $2`;

export class KeySelects implements AsyncDisposable {
  readonly #client: Client;
  readonly #tenant: string;

  private constructor(client: Client, tenant: string) {
    this.#client = client;
    this.#tenant = tenant;
  }

  static async of(databaseUrl: string, tenant: string): Promise<KeySelects> {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(`SET search_path = ${SCHEMA}`);
    return new KeySelects(client, tenant);
  }

  event(eventId: string): Promise<void> {
    return this.#found('event', EVENT, [Buffer.from(eventIdBytes(eventId))]);
  }

  page(limit: number): Promise<void> {
    return this.#found('page', PAGE, [limit]);
  }

  newest(limit: number): Promise<void> {
    return this.#found('newest', NEWEST, [limit]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }

  async #found(name: string, text: string, values: readonly unknown[]): Promise<void> {
    const { rowCount } = await this.#client.query({ name, text, values: [this.#tenant, ...values] });
    if (rowCount === 0) throw new Error(`${name} finds nothing`);
  }
}
