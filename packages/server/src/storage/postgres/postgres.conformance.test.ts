import { after, before, describe, it } from 'node:test';
import { CLAIMS, placeAt } from '../../testing/postgres-claims.ts';
import { type PostgresServer, startPostgres } from '../../testing/postgres-server.ts';
import { Database } from './database.ts';
import { migrate } from './migrate.ts';

let server: PostgresServer;
let migrated: string;
before(async () => {
  server = await startPostgres();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  await migrate(owner, 'postgres');
});
after(() => server?.[Symbol.asyncDispose]());

describe('PostgreSQL', () => {
  for (const [claim, holds] of CLAIMS) {
    it(claim, async () => {
      await using place = placeAt(await server.createDatabase(migrated));
      await holds(place);
    });
  }
});
