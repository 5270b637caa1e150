// What is written into a view costs by how much is new, not by how much is there already.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { shownEvent } from '../../../query/testing/shown-event.ts';
import { ViewTerms } from '../../event-index/terms.ts';
import { ALL_TENANTS, statement } from '../connection/database.ts';
import { WrittenPortion } from './index-writer.ts';
import { IndexedLogs } from './testing/indexed-log.ts';

const ACTORS = 500;
const PORTIONS = 8;
const LOOKED_AT = statement(
  `SELECT (coalesce(sum(seq_tup_read), 0) + coalesce(sum(idx_tup_fetch), 0))::integer AS rows
   FROM pg_stat_xact_all_tables WHERE relname = 'view_keys'`,
);

let logs: IndexedLogs;
before(async () => {
  logs = await IndexedLogs.open();
});
after(() => logs?.[Symbol.asyncDispose]());

for (const count of [1, 4])
  test(`of each text that events are counted by in ${count} views, the one known is looked up and no other`, async () => {
    const tenants = await logs.newTenants(count);
    const views = tenants.map((tenant) => ({
      tenant,
      generation: 1,
      nextIndex: 0,
      largeDocs: 0,
      terms: new ViewTerms(1, new Uint8Array(32)),
    }));
    const looked: number[] = [];
    // Each portion knows half of the actors of the one before. So often that the database settles for one plan.
    for (let portion = 0; portion < PORTIONS; portion++) {
      await logs.database.inTransaction(ALL_TENANTS, async (transaction) => {
        const written = new WrittenPortion(views);
        for (let i = 0; i < ACTORS; i++) {
          const actorNumber = (portion * ACTORS) / 2 + i;
          const userId = `u-${actorNumber}`;
          const actor = { actorType: 'User', userId, userName: `${userId}@acme.test` } as const;
          written.add(portion * ACTORS + i, shownEvent({ actor }), actorNumber % count);
        }
        const [before] = await transaction.query(LOOKED_AT);
        await written.write(transaction);
        const [after] = await transaction.query(LOOKED_AT);
        looked.push(Number(after?.['rows']) - Number(before?.['rows']));
      });
    }
    assert.ok(Math.max(...looked) <= 2 * ACTORS, `rows looked at, portion by portion: ${looked.join(', ')}`);
    const counted = await logs.raw(
      'SELECT count(*)::integer AS count FROM view_keys WHERE tenant_id = ANY($1)',
      [tenants],
    );
    // An action and a type of resource beside the actors.
    assert.equal(counted[0]?.['count'], (ACTORS * (PORTIONS + 1)) / 2 + 2 * count);
  });
