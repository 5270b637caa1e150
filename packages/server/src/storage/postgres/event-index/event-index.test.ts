// The index of events in PostgreSQL.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { claimDecisions } from '../../event-index/testing/decision-claims.ts';
import { claimIndex } from '../../event-index/testing/index-claims.ts';
import { claimRemovals } from '../../event-index/testing/removal-claims.ts';
import { claimUpkeep } from '../../event-index/testing/upkeep-claims.ts';
import { notes } from '../../event-index/testing/noted-events.ts';
import { TestIndex } from '../../event-index/testing/open-index.ts';
import { openPostgresIndex } from './testing/index-backend.ts';

claimIndex(openPostgresIndex);
claimDecisions(openPostgresIndex);
claimRemovals(openPostgresIndex);
claimUpkeep(openPostgresIndex);

test('blocks that a killed node has left go, once nobody can still be making their segment', async () => {
  await using backend = await openPostgresIndex();
  const index = new TestIndex(backend);
  const { store } = backend.making;
  await index.append('acme', notes(5));
  await index.follow();
  const young = await store.newSegment();
  const old = Math.floor((systemClock.now() - 2 * 3_600_000) / 1000) * 2 ** 20;
  for (const [tenant, segment] of [
    ['acme', old],
    ['acme', young],
    ['unlisted', old + 1],
  ] as const)
    await store.put(tenant, segment, [{ block: 0, bytes: Buffer.from('left') }]);
  const upkeep = index.upkeep();
  while (!(await upkeep.checkNext()).isRoundDone);
  const isThere = async (tenant: string, segment: number) =>
    (await store.get(tenant, [{ segment, block: 0 }]))[0] !== undefined;
  const listed = (await store.manifest('acme'))!.segments[0]!.id;
  assert.deepEqual(
    [
      await isThere('acme', old),
      await isThere('acme', young),
      await isThere('unlisted', old + 1),
      await isThere('acme', listed),
    ],
    [false, true, false, true],
  );
});
