// What somebody changed in the store, past the service, and what readers get of it: through the whole service, on the
// real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HealthReport } from '@tallystick/contract';
import { decodeEntry, eventIdBytes, leafHash, toHex } from '@tallystick/evidence';
import { alteredEvents, ROW, otherByte } from '../testing/altered-events.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { openRunningJournal } from '../testing/running-journal.ts';

// What is sealed cannot be changed in this way: see storage/sealing.
const { app } = startEventsApp({}, undefined, { Encryption__Classifications: 'None' });
const { ask, change, reportsOf, threeOf } = alteredEvents(app);

const CHANGES: Record<string, string> = {
  'a payload': `UPDATE contents SET text2 = CAST('{"payload":{"amount":2}}' AS BLOB) WHERE id = ${ROW}`,
  'a fact': `UPDATE contents SET text1 = CAST(replace(CAST(text1 AS TEXT), 'Delete.', 'Create.') AS BLOB) WHERE id = ${ROW}`,
  'a payload that is no text at all': `UPDATE contents SET text2 = x'ff' WHERE id = ${ROW}`,
  'a payload that is no group of an event': `UPDATE contents SET text2 = CAST('{"a":1}' AS BLOB) WHERE id = ${ROW}`,
  'a seed': `UPDATE contents SET seeds = randomblob(32) WHERE id = ${ROW}`,
  'half of the seeds': `UPDATE contents SET seeds = substr(seeds, 1, 16) WHERE id = ${ROW}`,
  'the time of acceptance in the entry': `UPDATE entries SET entry = ${otherByte('entry', 36)} WHERE event_id = ?`,
  'the leaf': `UPDATE entries SET leaf = zeroblob(32) WHERE event_id = ?`,
};

for (const [i, [what, statement]] of Object.entries(CHANGES).entries()) {
  test(`${what} that was changed in the store is shown to nobody, in no view`, async () => {
    const { tenant, ids, eventId, page, codesOf } = await threeOf(`changed-${i}`);
    assert.deepEqual(await codesOf('Internal'), ['200', 200]);
    change(eventId, statement);
    for (const clearance of ['Secret', 'Internal', 'Public'] as const) {
      assert.deepEqual(await codesOf(clearance), ['500 INTERNAL_ERROR', 500], clearance);
    }
    for (const clearance of ['Secret', 'Public'] as const) {
      const data = await page(clearance);
      assert.deepEqual(
        data.map(({ sequence, eventId: id }) => [sequence, id]),
        ids.map((id, at) => [at + 1, id]),
      );
      const [before, altered, behind] = data;
      assert.ok(!('withheld' in before!) && !('withheld' in behind!), 'the others are served');
      assert.deepEqual(Object.keys(altered!).toSorted(), ['eventId', 'integrity', 'sequence', 'withheld']);
      assert.equal('withheld' in altered! && altered.withheld, 'Altered');
    }
    const { body: health } = await ask(tenant, '/health');
    assert.equal((health as HealthReport).entries['log']?.status, 'Degraded');
    const reports = reportsOf(tenant);
    assert.equal(reports.length, 8, 'three readers of the event, three of the proof, two of the page');
    for (const report of reports) {
      const { level, eventId: named, index } = report;
      assert.deepEqual([level, named, index], ['Error', eventId, 1]);
    }
  });
}

test('an event that was declassified in the store is shown to nobody', async () => {
  const { eventId, page, codesOf, tenant } = await threeOf('declassified', { classification: 'Secret' });
  change(eventId, 'UPDATE entries SET classification = 0 WHERE event_id = ?');
  for (const clearance of ['Secret', 'Public'] as const) {
    assert.deepEqual(await codesOf(clearance), ['500 INTERNAL_ERROR', 500]);
    const altered = (await page(clearance))[1]!;
    assert.equal('withheld' in altered && altered.withheld, 'Altered');
  }
  assert.equal(reportsOf(tenant).length, 6);
});

test('an event that was written anew, entry and leaf included, has no proof', async () => {
  const { eventId, tenant, page } = await threeOf('rewritten');
  using db = openRunningJournal(app.dataDirectory);
  const row = db.prepare('SELECT entry FROM entries WHERE event_id = ?').get(eventIdBytes(eventId))!;
  const entry = Uint8Array.from(row['entry'] as Uint8Array);
  entry[35]! ^= 1;
  change(
    eventId,
    `UPDATE entries SET entry = x'${toHex(entry)}', leaf = x'${toHex(leafHash(entry))}' WHERE event_id = ?`,
  );
  // Every stored piece agrees with every other one; only the signature does not.
  assert.equal((await ask(tenant, `/audit-events/${eventId}/proof`)).status, 500);
  const [report] = reportsOf(tenant);
  assert.deepEqual([report?.['eventId'], report?.['index']], [eventId, 1]);
  const { integrity } = (await page())[1]!;
  assert.equal(integrity.leafHash, toHex(leafHash(entry)), 'a page looks at no other entry');
  assert.equal(decodeEntry(entry).eventId, eventId);
});

test('a page with many changed events is reported once, with how many there are', async () => {
  const { tenant, ids, page } = await threeOf('many');
  for (const id of ids) change(id, CHANGES['a payload']!);
  const data = await page();
  assert.deepEqual(
    data.map((event) => 'withheld' in event && event.withheld),
    ['Altered', 'Altered', 'Altered'],
  );
  const [report, ...others] = reportsOf(tenant);
  assert.deepEqual(
    [others.length, report?.['eventId'], report?.['index'], report?.['count']],
    [0, ids[0], 0, 3],
  );
});
