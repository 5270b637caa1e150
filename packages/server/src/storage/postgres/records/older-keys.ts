// API keys from before there were records.

import type { OlderKeyStore } from '../../../access/older-keys.ts';
import { olderKeyIn } from '../../rows/older-key-row.ts';
import { ALL_TENANTS, type Database, statement } from '../connection/database.ts';

const LIST = statement('SELECT * FROM api_keys');
const REMOVE = statement('DELETE FROM api_keys WHERE tenant_id = $1');

export function createOlderKeyStore(database: Database): OlderKeyStore {
  return {
    list: async () => (await database.read(ALL_TENANTS, LIST)).map(olderKeyIn),
    async remove(tenantId) {
      await database.inTransaction({ role: 'Writer', tenants: [tenantId] }, (transaction) =>
        transaction.change(REMOVE, [tenantId]),
      );
    },
  };
}
