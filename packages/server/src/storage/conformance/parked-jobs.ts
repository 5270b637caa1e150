// Claims about jobs that wait while their lane is closed.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../runtime/clock.ts';
import { type Claims, openWith } from './claims.ts';
import { add, end, LANE, MANY, PARKING } from './lanes.ts';
import { idsOf } from './work.ts';

const DAY_MS = 86_400_000;

export const parkedClaims: Claims = {
  'what has waited in a closed lane goes before all that comes later, and is due since it is open': async (
    place,
  ) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    const failed = await add(storage, 'acme', 2);
    for (const claim of await storage.work.claim(MANY))
      await end(storage, claim, { status: 'Failed', reason: 'r', againInMs: 0 });
    await jobs.changeLane(LANE, { status: 'Closes', note: 'n' });
    const parked = await add(storage, 'acme', 4);
    assert.deepEqual(await storage.work.claim(MANY), []);
    const last = await add(storage, 'acme', 1);
    const beforeMs = systemClock.now();
    await jobs.changeLane(LANE, { status: 'Opens' });
    await sleep(5);
    const fresh = await add(storage, 'acme', 2);
    const one = { ...MANY, max: 1 };
    const order: string[] = [];
    for (let i = 0; i < failed.length + 7; i++) order.push(...idsOf(await storage.work.claim(one)));
    const firstTime = order.filter((id) => !failed.includes(id));
    assert.deepEqual(firstTime, [...parked, ...last, ...fresh]);
    assert.deepEqual(
      order.filter((id) => failed.includes(id)),
      failed,
    );
    await jobs.changeLane(LANE, { status: 'Closes', note: 'n' });
    const [again] = await add(storage, 'acme', 1);
    await storage.work.claim(MANY);
    await jobs.changeLane(LANE, { status: 'Opens' });
    await storage.work.claim({ ...MANY, max: 0 });
    const { waitingSinceMs } = await jobs.backlog(LANE.kind);
    assert.ok(Math.abs(waitingSinceMs! - beforeMs) < 60_000, `${again} waits since ${waitingSinceMs}`);
  },

  'what waits in a closed lane for too long becomes a dead letter': async (place) => {
    await using storage = await openWith(place, 'acme');
    const jobs = storage.work.forTenant('acme');
    await jobs.changeLane(LANE, { status: 'Closes', note: 'n' });
    const [id] = await add(storage, 'acme', 1);
    await storage.work.claim({ ...MANY, parking: { ...PARKING, waitMs: 50 } });
    await sleep(100);
    await storage.work.claim(MANY);
    const letter = await jobs.find(id!);
    assert.deepEqual([letter?.state, letter?.isLetter, letter?.reason], ['Dead', true, PARKING.reason]);
    assert.ok(letter!.expiresAtMs! > systemClock.now() + DAY_MS / 2);
    // Retried while it is closed, it waits again.
    assert.deepEqual(await jobs.retry(id!), { status: 'Retried' });
    assert.deepEqual(await storage.work.claim(MANY), []);
    await jobs.changeLane(LANE, { status: 'Opens' });
    assert.deepEqual(idsOf(await storage.work.claim(MANY)), [id]);
  },
};
