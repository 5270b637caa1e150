// Ingestion with PostgreSQL behind the service, on the same machine: what the embedded store is measured by (ingest.ts).

import { startPostgres } from '../packages/server/src/testing/postgres-server.ts';
import { measureIngest } from './ingest.ts';
import type { Benchmark } from './measure.ts';

export const benchmark: Benchmark = {
  name: 'ingest-postgres',
  title: 'W1, W2, W7 on PostgreSQL, which runs on the same machine with its usual durability',
  async run() {
    await using server = await startPostgres({ shared_buffers: '256MB', max_wal_size: '4GB' });
    // Awaited here: the server ends when this returns.
    return await measureIngest({ Storage__Url: await server.createDatabase() });
  },
};
