// What happens to views.db from outside, while the service runs: events are stored all the same, and found again soon.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { HealthReport } from '@tallystick/contract';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import { EVENT } from '../../../testing/bound-operations.ts';
import { believeClearance, eventCaller } from '../../../testing/event-caller.ts';
import { finderOf } from '../../../testing/found-events.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import { openViews, VIEWS_FILE } from './views-database.ts';

/** However slow the machine is. */
const PATIENCE_MS = 120_000;
const AT_ONCE = 4;
const SENT = 100;
const ALL_FOUND = `${2 * SENT} found`;

const filesIn = (directory: string) => ['', '-wal'].map((suffix) => join(directory, VIEWS_FILE + suffix));

const HARMS: Readonly<Record<string, (directory: string) => void>> = {
  'is filled with zeros': (directory) => {
    for (const path of filesIn(directory)) writeFileSync(path, Buffer.alloc(statSync(path).size));
  },
  'is cut to nothing': (directory) => {
    for (const path of filesIn(directory)) truncateSync(path, 0);
  },
  'is deleted': (directory) => {
    for (const path of [...filesIn(directory), join(directory, `${VIEWS_FILE}-shm`)]) rmSync(path);
  },
};

async function send(app: TestApp): Promise<void> {
  const events = Array.from({ length: SENT }, () => EVENT);
  assert.equal((await eventCaller(app).ingestBatch({ events })).code, '201');
}

/** Several at once, so that a thread is started that has not been there before. */
async function found(app: TestApp): Promise<readonly string[]> {
  const lists = Array.from({ length: AT_ONCE }, () => finderOf(app).list('limit=1'));
  return (await Promise.all(lists)).map(({ code, body }) =>
    code === '200' ? `${body.pagination.total} found` : code,
  );
}

for (const [harm, inflict] of Object.entries(HARMS)) {
  test(`where views.db ${harm}, events are stored, and all are found again soon`, async () => {
    await using app = await startTestApp({}, { authenticate: believeClearance });
    await send(app);
    await finderOf(app).caughtUp();
    inflict(app.dataDirectory);
    await send(app);
    const seen = new Set<string>();
    const deadline = Date.now() + PATIENCE_MS;
    for (let all: readonly string[] = []; all.length === 0 || all.some((each) => each !== ALL_FOUND); ) {
      all = await found(app);
      for (const each of all) seen.add(each);
      assert.ok(Date.now() < deadline, all.join());
    }
    const failures = app.lines.filter(({ message }) => message === 'a request failed unexpectedly');
    assert.deepEqual(
      [failures.map(({ error }) => error), [...seen].filter((each) => each.startsWith('500'))],
      [[], []],
    );
    assert.ok(app.lines.some(({ message }) => message === 'the index is made anew: it is damaged'));
  });
}

/** Takes from the views what searches need. */
function takeTable(directory: string): void {
  using views = new DatabaseSync(join(directory, VIEWS_FILE), { timeout: PATIENCE_MS });
  views.exec('DROP TABLE manifests');
}

async function viewsOf(app: TestApp): Promise<HealthReport['entries'][string]> {
  const response = await fetch(`${app.url}/api/v1/health`);
  assert.equal(response.status, 200);
  return ((await response.json()) as HealthReport).entries['views']!;
}

async function foundAgain(app: TestApp): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while ((await found(app)).some((each) => each !== `${SENT} found`)) assert.ok(Date.now() < deadline);
}

test('views that are damaged again soon are told of until they are made anew, which nobody need ask for', async () => {
  let aheadNs = 0;
  const clock: Clock = { ...systemClock, monotonicNs: () => systemClock.monotonicNs() + aheadNs };
  await using app = await startTestApp({}, { authenticate: believeClearance, clock });
  await send(app);
  await foundAgain(app);
  takeTable(app.dataDirectory);
  assert.ok((await found(app)).includes('503 SERVICE_UNAVAILABLE'));
  await foundAgain(app);
  assert.equal((await viewsOf(app)).status, 'Healthy');
  takeTable(app.dataDirectory);
  for (let look = 0; look < 3; look++) {
    assert.deepEqual(
      await found(app),
      Array.from({ length: AT_ONCE }, () => '503 SERVICE_UNAVAILABLE'),
    );
    const { status, description } = await viewsOf(app);
    assert.equal(status, 'Degraded');
    assert.match(description ?? '', /damaged/);
  }
  const told = app.lines.filter(({ message }) => String(message).startsWith('the index is damaged again'));
  assert.equal(told.length, 1, 'said once');
  aheadNs = 601e9;
  const deadline = Date.now() + PATIENCE_MS;
  while ((await viewsOf(app)).status !== 'Healthy') assert.ok(Date.now() < deadline);
  await foundAgain(app);
});

test('what stands in the place of views.db is removed, a folder too', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-views-'));
  using _ = { [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
  mkdirSync(join(directory, VIEWS_FILE, 'inside'), { recursive: true });
  const { db, discarded } = openViews(directory);
  assert.notEqual(discarded, undefined);
  assert.ok(statSync(join(directory, VIEWS_FILE)).isFile());
  db.close();
});

test('views of another version are thrown away', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-views-'));
  using _ = { [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
  const first = openViews(directory);
  assert.equal(first.discarded, undefined);
  first.db.exec('PRAGMA user_version = 99');
  first.db.close();
  const second = openViews(directory);
  assert.match(second.discarded ?? '', /version 99/);
  second.db.close();
});

test('views whose pages turn out to be damaged while they are opened are thrown away', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-views-'));
  using _ = { [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
  openViews(directory).db.close();
  const tidied: unknown[] = [];
  const { db, discarded } = openViews(directory, false, (opened) => {
    tidied.push(opened);
    throw new Error('database disk image is malformed');
  });
  assert.deepEqual([tidied.length, discarded], [1, 'database disk image is malformed']);
  assert.deepEqual(db.prepare('SELECT * FROM blocks').all(), []);
  db.close();
});

const OTHERS: Readonly<Record<string, string>> = {
  'a table more': 'CREATE TABLE other (a INTEGER)',
  'a trigger': 'CREATE TRIGGER hide AFTER INSERT ON blocks BEGIN DELETE FROM blocks; END',
  'a view in the place of a table':
    'ALTER TABLE manifests RENAME TO hidden; CREATE VIEW manifests AS SELECT * FROM hidden WHERE tenant_id <> 1',
  'a table with another column': 'ALTER TABLE blocks ADD COLUMN more TEXT',
};

for (const [what, sql] of Object.entries(OTHERS)) {
  test(`views with ${what} are thrown away`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'tallystick-views-'));
    using _ = { [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
    const first = openViews(directory);
    first.db.exec("INSERT INTO blocks (id, bytes) VALUES (1, x'00')");
    first.db.close();
    // Control: as they were made, they are kept.
    const same = openViews(directory);
    assert.equal(same.discarded, undefined);
    assert.equal(same.db.prepare('SELECT * FROM blocks').all().length, 1);
    same.db.exec(sql);
    same.db.close();
    const anew = openViews(directory);
    assert.match(anew.discarded ?? '', /other tables/);
    assert.deepEqual(anew.db.prepare('SELECT * FROM blocks').all(), []);
    assert.deepEqual(anew.db.prepare("SELECT * FROM sqlite_schema WHERE name = 'other'").all(), []);
    anew.db.close();
  });
}

test('a database of something else in the place of views.db is thrown away', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-views-'));
  using _ = { [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
  const other = new DatabaseSync(join(directory, VIEWS_FILE));
  other.exec('CREATE TABLE notes (text TEXT)');
  other.close();
  const { db, discarded } = openViews(directory);
  assert.match(discarded ?? '', /something else/);
  assert.deepEqual(db.prepare('SELECT * FROM manifests').all(), []);
  db.close();
});
