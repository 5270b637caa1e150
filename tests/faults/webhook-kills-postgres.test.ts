// The kills of webhook-kills.test.ts, on PostgreSQL: what a killed node held is free when its leases end, for the other one too.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { SIZE } from './size.ts';
import { EVERYWHERE, IN_TURN, requireNoneLostByCuts } from './webhooks/cuts.ts';
import { requireNoneLostByKills } from './webhooks/random-kills.ts';

/** Each on data of its own, since what is done is kept for minutes by this time scale. */
const ROUNDS = SIZE.isLong ? 10 : 1;
const KILLS = SIZE.isLong ? 15 : 6;

test('no delivery is lost by a kill at any step, on PostgreSQL', (t) =>
  requireNoneLostByCuts(t, BACKENDS.PostgreSQL, SIZE.isLong ? EVERYWHERE : IN_TURN));

for (let round = 1; round <= ROUNDS; round++)
  test(`no delivery is lost by ${KILLS} kills at random moments of two nodes on PostgreSQL: ${round}`, (t) =>
    requireNoneLostByKills(t, BACKENDS.PostgreSQL, { kills: KILLS, nodes: 2 }));
