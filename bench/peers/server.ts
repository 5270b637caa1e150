// What the peers have in common: an Express server that takes single events and batches for the tenant of a header, as
// somebody would write it in an afternoon, and one pool of connections to a database that starts empty. It does not validate
// events, look for repeated ones or ask who sends them, all of which the service does.

import express from 'express';
import { Pool } from 'pg';
import type { standardEvent } from '../standard-event.ts';

export type AuditEvent = ReturnType<typeof standardEvent>;

export interface Peer {
  /** Resolve with what they are known by, once that is durable. */
  storeOne(tenant: string, event: AuditEvent): Promise<string>;
  storeMany(tenant: string, events: readonly AuditEvent[]): Promise<readonly string[]>;
}

/** Enough for the database to commit several at once; more cost more than they give on the machines at hand. */
const CONNECTIONS = 16;

/** Serves what `make` makes of the database in the first argument, and prints the port. */
export async function serve(make: (pool: Pool, url: string) => Promise<Peer>): Promise<void> {
  const url = process.argv[2]!;
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  const peer = await make(pool, url);
  const app = express();
  app.use(express.json({ limit: '16mb' }));
  app.post('/events', (request, response, next) => {
    const stored = peer.storeOne(request.get('X-Tenant-Id')!, request.body as AuditEvent);
    stored.then((id) => response.status(201).json({ id }), next);
  });
  app.post('/events/batch', (request, response, next) => {
    const { events } = request.body as { events: AuditEvent[] };
    const stored = peer.storeMany(request.get('X-Tenant-Id')!, events);
    stored.then((ids) => response.status(201).json({ ids }), next);
  });
  const server = app.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`${typeof address === 'object' && address !== null ? address.port : 0}\n`);
  });
}
