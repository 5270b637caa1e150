// Emmett's event store on PostgreSQL. Two who append to the same stream at once are in each other's way there, and one of them
// has to try again; so single events go to the stream of their resource, and each batch to a stream of its own.

import { randomUUID } from 'node:crypto';
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { type AuditEvent, serve } from './server.ts';

/** Emmett's code of an append that found its stream moved. */
const CONFLICT = 412;
const ATTEMPTS_MAX = 20;

await serve(async (pool, url) => {
  const store = getPostgreSQLEventStore(url, { connectionOptions: { pool } });
  await store.schema.migrate();
  const append = async (stream: string, tenant: string, events: readonly AuditEvent[]) => {
    const messages = events.map((data) => ({ type: data.action, data, metadata: { tenant } }));
    for (let attempt = 1; ; attempt++) {
      try {
        return (await store.appendToStream(stream, messages)).nextExpectedStreamVersion;
      } catch (error) {
        if (attempt === ATTEMPTS_MAX || !isConflict(error)) throw error;
      }
    }
  };
  return {
    async storeOne(tenant, event) {
      const stream = `${tenant}:${event.resource.resourceType}:${event.resource.resourceId}`;
      return `${stream}@${await append(stream, tenant, [event])}`;
    },
    async storeMany(tenant, events) {
      const stream = `${tenant}:batch:${randomUUID()}`;
      await append(stream, tenant, events);
      return events.map((_, i) => `${stream}@${i + 1}`);
    },
  };
});

function isConflict(error: unknown): boolean {
  return error instanceof Error && 'errorCode' in error && error.errorCode === CONFLICT;
}
