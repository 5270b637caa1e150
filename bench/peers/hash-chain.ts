// A table in which a trigger gives each event of a tenant the next number and a hash over the one before. Of one tenant
// only one transaction at a time gets past the lock: the next would follow upon the same event. The table has no index but that
// of its key: each one more would cost it more.

import { serve } from './server.ts';

const TABLE = `
  CREATE TABLE audit_events (
    tenant_id     text NOT NULL,
    sequence      bigint NOT NULL,
    event         jsonb NOT NULL,
    received_at   timestamptz NOT NULL DEFAULT now(),
    previous_hash bytea NOT NULL,
    hash          bytea NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
  );

  CREATE FUNCTION chain() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    newest record;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.tenant_id, 0));
    SELECT sequence, hash INTO newest FROM audit_events
      WHERE tenant_id = NEW.tenant_id ORDER BY sequence DESC LIMIT 1;
    NEW.sequence := coalesce(newest.sequence, 0) + 1;
    NEW.previous_hash := coalesce(newest.hash, '\\x00'::bytea);
    NEW.hash := sha256(NEW.previous_hash || convert_to(NEW.sequence || NEW.tenant_id || NEW.event::text, 'UTF8'));
    RETURN NEW;
  END $$;
  CREATE TRIGGER chain BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION chain()`;

const ONE = 'INSERT INTO audit_events (tenant_id, event) VALUES ($1, $2) RETURNING sequence';
const MANY = `INSERT INTO audit_events (tenant_id, event)
  SELECT $1, event FROM jsonb_array_elements($2::jsonb) AS event RETURNING sequence`;

interface Stored {
  readonly sequence: string;
}

await serve(async (pool) => {
  await pool.query(TABLE);
  return {
    async storeOne(tenant, event) {
      const values = [tenant, JSON.stringify(event)];
      const { rows } = await pool.query<Stored>({ name: 'one', text: ONE, values });
      return rows[0]!.sequence;
    },
    async storeMany(tenant, events) {
      const values = [tenant, JSON.stringify(events)];
      const { rows } = await pool.query<Stored>({ name: 'many', text: MANY, values });
      return rows.map(({ sequence }) => sequence);
    },
  };
});
