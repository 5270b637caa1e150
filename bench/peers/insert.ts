// One INSERT for each request into a table with the event as jsonb. Its indexes are those that lists by time, actor, action and
// resource need; there is none on what is inside of the event, which would cost it much more.

import { serve } from './server.ts';

const TABLE = `
  CREATE TABLE audit_events (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id     text NOT NULL,
    at            timestamptz NOT NULL,
    actor_id      text NOT NULL,
    action        text NOT NULL,
    resource_type text NOT NULL,
    resource_id   text NOT NULL,
    event         jsonb NOT NULL,
    received_at   timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX ON audit_events (tenant_id, at);
  CREATE INDEX ON audit_events (tenant_id, actor_id, at);
  CREATE INDEX ON audit_events (tenant_id, action, at);
  CREATE INDEX ON audit_events (tenant_id, resource_type, resource_id, at)`;

const INTO = 'INSERT INTO audit_events (tenant_id, at, actor_id, action, resource_type, resource_id, event)';
const ONE = `${INTO} VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`;
const MANY = `${INTO}
  SELECT $1, (event->>'timestamp')::timestamptz, event->'actor'->>'userId', event->>'action',
    event->'resource'->>'resourceType', event->'resource'->>'resourceId', event
  FROM jsonb_array_elements($2::jsonb) AS event RETURNING id`;

interface Stored {
  readonly id: string;
}

await serve(async (pool) => {
  await pool.query(TABLE);
  return {
    async storeOne(tenant, event) {
      const { timestamp, actor, action, resource } = event;
      const facts = [timestamp, actor.userId, action, resource.resourceType, resource.resourceId];
      const values = [tenant, ...facts, JSON.stringify(event)];
      const { rows } = await pool.query<Stored>({ name: 'one', text: ONE, values });
      return rows[0]!.id;
    },
    async storeMany(tenant, events) {
      const values = [tenant, JSON.stringify(events)];
      const { rows } = await pool.query<Stored>({ name: 'many', text: MANY, values });
      return rows.map(({ id }) => id);
    },
  };
});
