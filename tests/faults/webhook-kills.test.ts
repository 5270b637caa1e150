// P10 for a service that is killed at each step of a delivery – while it is queued, claimed, sent, saved, buried or recovered – and at
// random moments. After the restarts every matching event was delivered at least once, or is a dead letter, under one webhookId.

import { test } from 'node:test';
import { BACKENDS } from './backends.ts';
import { SIZE } from './size.ts';
import { EVERYWHERE, IN_TURN, requireNoneLostByCuts } from './webhooks/cuts.ts';
import { requireNoneLostByKills } from './webhooks/random-kills.ts';

/** Each round has its own data: by this time scale, letters are kept for ten minutes only. */
const ROUNDS = SIZE.isLong ? 10 : 1;
const KILLS = SIZE.isLong ? 15 : 3;

test('no delivery is lost by a kill at any step, on SQLite', (t) =>
  requireNoneLostByCuts(t, BACKENDS.SQLite, SIZE.isLong ? EVERYWHERE : IN_TURN));

for (let round = 1; round <= ROUNDS; round++)
  test(`no delivery is lost by ${KILLS} kills at random moments, on SQLite: ${round}`, (t) =>
    requireNoneLostByKills(t, BACKENDS.SQLite, { kills: KILLS, nodes: 1 }));
