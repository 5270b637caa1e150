// A legal hold that is placed while the service is cut: before the append, in the commit, and behind it before the answer. A restart
// finds all of it or nothing – record, notice, job, and what events say – and the same request again is answered as the first was,
// or would have been.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditEvent, IngestReceipt, LegalHold, List } from '@tallystick/contract';
import { BACKENDS } from './backends.ts';
import { type Ask, event } from './client.ts';
import { type Cut, Place } from './policies/cut-changes.ts';
import { requireVerified } from './policies/requirements.ts';

const HOLDS = '/api/v1/legal-holds';
const LEGAL_HOLD = 5;

const placing = (name: string): Ask => ({ path: HOLDS, key: name, body: { name, reason: 'Court order' } });

async function holdsIn(place: Place): Promise<readonly LegalHold[]> {
  const { body } = await place.ask({ method: 'GET', path: HOLDS });
  return (body as List<LegalHold>).data;
}

/** That all parts of the hold of this name are there, or none; whether they are. */
async function isWhole(place: Place, eventId: string, name: string): Promise<boolean> {
  const listed = await holdsIn(place);
  const isThere = listed.some((hold) => hold.name === name);
  const shown = await place.ask({ method: 'GET', path: `/api/v1/audit-events/${eventId}` });
  assert.equal((shown.body as AuditEvent).retention!.legalHold, listed.length > 0);
  for (const { heldEvents } of listed) assert.equal(heldEvents, 1);
  return isThere;
}

async function noticesIn({ backend }: Place): Promise<number> {
  const log = (await backend.readLog()).get('acme') ?? [];
  return log.filter(({ kind }) => kind === LEGAL_HOLD).length;
}

test('a hold whose placing is cut is there as a whole, or not at all', async () => {
  await using place = new Place(await BACKENDS.SQLite());
  await place.start();
  const stored = await place.ask({ body: event('x') });
  assert.equal(stored.status, 201);
  const { eventId } = stored.body as IngestReceipt;
  const count = await place.statementsOf(placing('whole'));
  let made = 1;
  for (const cut of ['Before', 1, Math.ceil(count / 2), 'Behind'] satisfies Cut[]) {
    const name = `cut-${cut}`;
    await place.askCut(placing(name), cut);
    const noticed = (await noticesIn(place)) - made;
    await place.start();
    assert.equal(await isWhole(place, eventId, name), noticed === 1, name);
    if (cut === 'Before') assert.equal(noticed, 0);
    if (cut === 'Behind') assert.equal(noticed, 1);
    const again = await place.ask(placing(name));
    assert.equal(again.status, noticed === 1 ? 200 : 201, name);
    assert.equal(await isWhole(place, eventId, name), true);
    made += 1;
    assert.equal((await holdsIn(place)).length, made);
  }
  place.service.kill('SIGTERM');
  await place.service.ended;
  assert.equal(await noticesIn(place), made);
  await requireVerified(place.backend);
});
