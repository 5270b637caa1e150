// The kills of webhook-kills.test.ts, on PostgreSQL: when its leases end, either node can claim what a killed node held.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { SIZE } from './size.ts';
import { EVERYWHERE, NOW_AND_THEN, requireNoneLostByCuts } from './webhooks/cuts.ts';
import { requireNoneLostByKills } from './webhooks/random-kills.ts';

/** Each round has its own data: by this time scale, letters are kept for ten minutes only. */
const ROUNDS = SIZE.isLong ? 10 : 1;
const KILLS = SIZE.isLong ? 15 : 3;

test('no delivery is lost by a kill at any step, on PostgreSQL', (t) =>
  requireNoneLostByCuts(t, BACKENDS.PostgreSQL, SIZE.isLong ? EVERYWHERE : NOW_AND_THEN));

for (let round = 1; round <= ROUNDS; round++)
  test(`no delivery is lost by ${KILLS} kills at random moments of two nodes on PostgreSQL: ${round}`, (t) =>
    requireNoneLostByKills(t, BACKENDS.PostgreSQL, { kills: KILLS, nodes: 2 }));
