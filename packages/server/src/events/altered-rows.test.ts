// Rows of the store that hold what none of them can hold, or say who may see an event otherwise than was hashed: through
// the whole service, on the real store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASSIFICATIONS, type StreamEvent } from '@tallystick/contract';
import { alteredEvents, ROW, otherByte } from '../testing/altered-events.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { openRunningJournal } from '../testing/running-journal.ts';

// What is sealed cannot be changed in this way: see storage/sealing.
const { app } = startEventsApp({}, undefined, { Encryption__Classifications: 'None' });
const { change, reportsOf, threeOf } = alteredEvents(app);

const INT64_MAX = '9223372036854775807';
const entries = (set: string) => `UPDATE entries SET ${set} WHERE event_id = ?`;
const contents = (set: string) => `UPDATE contents SET ${set} WHERE id = ${ROW}`;
const withheldIn = (data: readonly StreamEvent[]) =>
  data.map((event) => ('withheld' in event ? event.withheld : 'shown'));

/** The event can still be told by its id. */
const CHANGES: Record<string, string> = {
  'a byte of root1': entries(`root1 = ${otherByte('root1', 1)}`),
  'a byte of root2': entries(`root2 = ${otherByte('root2', 1)}`),
  'a root2 of three bytes': entries(`root2 = x'010203'`),
  'a root1 of a thousand bytes': entries('root1 = zeroblob(1000)'),
  'a byte of the label': entries(`entry = CAST(x'00' || substr(entry, 2) AS BLOB)`),
  'an entry of 200 bytes': entries('entry = CAST(entry || zeroblob(84) AS BLOB)'),
  'an entry that ends behind its id': entries('entry = substr(entry, 1, 52)'),
  'an index beyond 2^53 in the entry': entries(
    `entry = CAST(substr(entry, 1, 20) || x'ffffffffffffffff' || substr(entry, 29) AS BLOB)`,
  ),
  'a leaf of three bytes': entries(`leaf = x'010203'`),
  'no leaf': entries(`leaf = x''`),
  'a classification that is none': entries('classification = 9'),
  'a classification below all': entries('classification = -1'),
  'a classification beyond 2^53': entries(`classification = ${INT64_MAX}`),
  'an expiry beyond 2^53': contents(`expires_at_ms = ${INT64_MAX}`),
  'an expiry that is no time': contents('expires_at_ms = 9007199254740991'),
  'a text that is not there': contents(`text1 = x''`),
};

for (const [i, [what, statement]] of Object.entries(CHANGES).entries()) {
  test(`${what}: no proof, no event, and a page without a gap`, async () => {
    const { tenant, ids, eventId, page, codesOf } = await threeOf(`rows-${i}`);
    assert.deepEqual(await codesOf('Internal'), ['200', 200]);
    change(eventId, statement);
    for (const clearance of CLASSIFICATIONS) {
      assert.deepEqual(await codesOf(clearance), ['500 INTERNAL_ERROR', 500], clearance);
      const data = await page(clearance);
      assert.deepEqual(withheldIn(data), ['shown', 'Altered', 'shown']);
      assert.deepEqual(
        data.map(({ sequence, eventId: id }) => [sequence, id]),
        ids.map((id, at) => [at + 1, id]),
      );
      assert.match(data[1]!.integrity.leafHash, /^[0-9a-f]{64}$/);
      assert.match(data[1]!.integrity.previousHash, /^[0-9a-f]{64}$/);
      assert.equal(data[1]!.integrity.leafIndex, 1);
    }
    const reports = reportsOf(tenant);
    assert.deepEqual(
      reports.map(({ eventId: named, index }) => [named, index]),
      reports.map(() => [eventId, 1]),
    );
    assert.equal(reports.length, 12, 'of four readers each the event, its proof and the page');
  });
}

test('an entry that is too short for its id is nobody, and its place on the page is marked', async () => {
  const { tenant, eventId, page, codesOf } = await threeOf('short');
  change(eventId, entries('entry = substr(entry, 1, 50)'));
  assert.deepEqual(await codesOf('Secret'), ['404 EVENT_NOT_FOUND', 404]);
  const data = await page();
  assert.deepEqual(withheldIn(data), ['shown', 'Altered', 'shown']);
  assert.match(data[1]!.eventId, /^[0-9A-HJKMNP-TV-Z]{26}$/);
  assert.equal(data[1]!.eventId.slice(0, 22), eventId.slice(0, 22), 'what is left of it');
  assert.equal(reportsOf(tenant).length, 1);
});

test('an event that was moved to another place in the store is not shown, and not proven there', async () => {
  for (const [i, index] of ['-5', '77', INT64_MAX].entries()) {
    const { tenant, eventId, codesOf } = await threeOf(`moved-${i}`);
    change(eventId, entries(`leaf_index = ${index}`));
    assert.deepEqual(await codesOf('Secret'), ['500 INTERNAL_ERROR', 500], index);
    assert.deepEqual(
      reportsOf(tenant).map((report) => report['eventId']),
      [eventId, eventId],
    );
  }
});

const OTHER_TYPES: Record<string, string> = {
  entries: `classification = 'x', leaf = 'y', root1 = 7, root2 = 1.5`,
  contents: `text1 = 'x', text2 = 7, seeds = NULL, expires_at_ms = 'y'`,
};

for (const [table, set] of Object.entries(OTHER_TYPES)) {
  for (const one of set.split(', ')) {
    test(`a column of another type is a fault of its row alone: ${table}.${one}`, async () => {
      const { eventId, page, codesOf } = await threeOf(`types-${one.replaceAll(/\W/g, '')}`);
      withoutTypes(table, () => change(eventId, table === 'entries' ? entries(one) : contents(one)));
      for (const clearance of ['Secret', 'Public'] as const) {
        assert.deepEqual(await codesOf(clearance), ['500 INTERNAL_ERROR', 500]);
        assert.deepEqual(withheldIn(await page(clearance)), ['shown', 'Altered', 'shown']);
      }
    });
  }
}

/** Takes the types of a table's columns off its schema, and puts them on again. */
function withoutTypes(table: string, work: () => void): void {
  using db = openRunningJournal(app.dataDirectory, { defensive: false });
  const strict = String(db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(table)!['sql']);
  const loose = strict
    .replace(/ STRICT$/, '')
    .replaceAll(' NOT NULL', '')
    .replaceAll('BLOB', '');
  db.exec('PRAGMA writable_schema = ON');
  for (const [sql, then] of [
    [loose, work],
    [strict, () => {}],
  ] as const) {
    db.prepare('UPDATE sqlite_schema SET sql = ? WHERE name = ?').run(sql, table);
    // All others read the schema anew when its number has changed.
    const { schema_version: version } = db.prepare('PRAGMA schema_version').get()!;
    db.exec(`PRAGMA schema_version = ${Number(version) + 1}`);
    then();
  }
}

test('an event that was classified higher in the store is shown as altered to all who may see either class', async () => {
  for (const column of [0, 1, 3]) {
    const { tenant, eventId, page, codesOf } = await threeOf(`raised-${column}`);
    change(eventId, entries(`classification = ${column}`));
    for (const clearance of CLASSIFICATIONS) {
      assert.deepEqual(await codesOf(clearance), ['500 INTERNAL_ERROR', 500], clearance);
      assert.deepEqual(withheldIn(await page(clearance)), ['shown', 'Altered', 'shown']);
    }
    assert.equal(reportsOf(tenant).length, 12);
  }
});

test('a secret event stays withheld from readers below Confidential, even if other fields of it were changed', async () => {
  const secret = {
    classification: 'Secret',
    resource: { resourceType: 'Invoice', resourceId: '"classification":"Internal"' },
  };
  const kept: Record<string, string | undefined> = {
    nothing: undefined,
    'its payload': contents(`text2 = CAST('{"payload":{"amount":2}}' AS BLOB)`),
    'its facts': contents(`text1 = x'ff'`),
    'its root': entries(`root2 = zeroblob(32)`),
    'its leaf': entries(`leaf = x''`),
    'its expiry': contents(`expires_at_ms = ${INT64_MAX}`),
    'its class, to one that there is not': entries('classification = 9'),
    'its content, which is gone': `DELETE FROM contents WHERE id = ${ROW}`,
  };
  for (const [i, [what, statement]] of Object.entries(kept).entries()) {
    const { tenant, eventId, codesOf, page } = await threeOf(`secret-${i}`, secret);
    if (statement !== undefined) change(eventId, statement);
    const [shown, withheld] =
      statement === undefined ? [['200', 200], 'Clearance'] : [['500 INTERNAL_ERROR', 500], 'Altered'];
    for (const clearance of ['Public', 'Internal'] as const) {
      assert.deepEqual(await codesOf(clearance), ['404 EVENT_NOT_FOUND', 404], what);
    }
    assert.equal(reportsOf(tenant).length, 0, 'nobody was told anything');
    for (const clearance of ['Confidential', 'Secret'] as const) {
      assert.deepEqual(await codesOf(clearance), shown, `${what} for ${clearance}`);
    }
    const isGone = statement?.startsWith('DELETE');
    assert.equal(withheldIn(await page('Internal'))[1], isGone ? 'Clearance' : withheld, what);
  }
});

test('content that is gone is altered, as long as nothing deletes any', async () => {
  const { tenant, eventId, page, codesOf } = await threeOf('gone');
  change(eventId, `DELETE FROM contents WHERE id = ${ROW}`);
  for (const clearance of CLASSIFICATIONS) {
    assert.deepEqual(await codesOf(clearance), ['500 INTERNAL_ERROR', 500], clearance);
    assert.deepEqual(withheldIn(await page(clearance)), ['shown', 'Altered', 'shown']);
  }
  assert.equal(reportsOf(tenant).length, 12);
});
