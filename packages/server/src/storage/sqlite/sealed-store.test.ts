import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { CLASSIFICATIONS, type Classification } from '@tallystick/contract';
import { systemClock } from '../../runtime/clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { openRunningJournal } from '../../testing/running-journal.ts';
import { sealingBy, testRing } from '../../testing/sealed-store.ts';
import { append, draftOf, NOW_MS, now, request, soundContent, STREAMS } from '../conformance/claims.ts';
import { Keyring, type RingData } from '../sealing/keyring.ts';
import { SealedRows } from '../sealing/sealed-rows.ts';
import type { OpenSealing } from '../sealing/sealing.ts';
import type { Storage } from '../storage.ts';
import { copyJournal } from './copy/copy-journal.ts';
import { JournalEvents } from './event-index/journal-events.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-sealed-'));
after(() => rmSync(folder, { recursive: true }));
const newPlace = () => mkdtempSync(join(folder, 'data-'));

const CANARY = 'Kanarienvogel';
const EVENTS = 2048;

function openAt(directory: string, openSealing?: OpenSealing, threads = false): Promise<Storage> {
  return openSqliteStorage({
    directory,
    logOrigin: 'audit.example.com',
    streams: STREAMS,
    clock: systemClock,
    random: createSystemRandom(),
    threads,
    exclusive: true,
    openSealing,
    onFatal: (error) => {
      throw error;
    },
  });
}

const eventOf = (i: number, classification: Classification) =>
  draftOf(
    {
      timestamp: '2026-01-02T03:04:05.678Z',
      classification,
      actor: { actorType: 'User', userName: `${CANARY}-${i}` },
      resource: { resourceType: 'Invoice', resourceId: `${CANARY}-${i}` },
      payload: { note: `${CANARY} sings ${i}` },
    },
    { classification, retention: 'P7Y' },
  );

/** Some events are stored, indexed and backed up; returns all files in which the name is found. */
async function filesWithCanary(
  classification: Classification,
  openSealing?: OpenSealing,
): Promise<readonly string[]> {
  const directory = newPlace();
  {
    await using storage = await openAt(directory, openSealing, true);
    await storage.tenants.ensure('acme', NOW_MS);
    for (let at = 0; at < EVENTS; at += 512)
      await append(
        storage,
        request(
          'acme',
          Array.from({ length: 512 }, (_, i) => eventOf(at + i, classification)),
        ),
      );
    assert.equal((await storage.index.turn()).taken, EVENTS);
    const [last] = await storage.log.forTenant('acme').events(EVENTS - 1, EVENTS, 1);
    assert.match(soundContent(last).texts[1], new RegExp(CANARY));
    await copyJournal(directory, join(directory, 'backup'));
  }
  const isClear = blocksOf(directory).some((block) => block.subarray(0, 4).toString('hex') === '28b52ffd');
  const found = readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(CANARY));
  return [...found, ...(isClear ? ['a block of the index'] : [])];
}

function blocksOf(directory: string): Buffer[] {
  using db = new DatabaseSync(join(directory, 'views.db'), { readOnly: true });

  const blocks = db.prepare('SELECT bytes FROM blocks').all();
  assert.ok(blocks.length > 10, 'there are blocks');
  return blocks.map(({ bytes }) => Buffer.from(bytes as Uint8Array));
}

test('nothing of sealed events is in any file of the data directory, or in a backup', async () => {
  assert.deepEqual(await filesWithCanary('Confidential', sealingBy()), []);
});

test('the same search finds what is not sealed', async () => {
  const sealing = sealingBy(testRing(), ['Secret']);
  const found = await filesWithCanary('Confidential', sealing);
  assert.deepEqual(found, ['backup', 'journal.db', 'a block of the index']);
});

interface Box {
  readonly keyId: string;
  readonly box: Uint8Array;
}

function boxesIn(directory: string): Box[] {
  using db = openRunningJournal(directory);
  return db
    .prepare('SELECT key_id, text1 FROM contents WHERE key_id IS NOT NULL')
    .all()
    .map(({ key_id: keyId, text1 }) => ({ keyId: keyId as string, box: text1 as Uint8Array }));
}

const nonceIn = ({ keyId, box }: Box) => `${keyId} ${Buffer.from(box.subarray(0, 12)).toString('hex')}`;
const numberIn = ({ box }: Box) => Buffer.from(box).readUIntBE(6, 6);

test('no nonce is used twice under a key, over restarts and of two processes', async () => {
  const directory = newPlace();
  const ring = testRing();
  const open = (exclusive: boolean) =>
    openSqliteStorage({
      directory,
      logOrigin: 'audit.example.com',
      streams: STREAMS,
      clock: systemClock,
      random: createSystemRandom(),
      threads: false,
      exclusive,
      openSealing: sealingBy(ring),
      onFatal: assert.fail,
    });
  for (let round = 0; round < 3; round++) {
    await using one = await open(true);
    await using other = await open(false);
    await one.tenants.ensure('acme', NOW_MS);
    for (let i = 0; i < 20; i++)
      await Promise.all([one, other].map((each) => append(each, request('acme', [eventOf(i, 'Secret')]))));
  }
  const boxes = boxesIn(directory);
  assert.equal(new Set(boxes.map(nonceIn)).size, 120);
  assert.equal(new Set(boxes.map(({ keyId }) => keyId)).size, 1);
  const blocks = new Set(boxes.map(({ box }) => Buffer.from(box.subarray(0, 6)).toString('hex')));
  assert.ok(blocks.size >= 6, 'each process has its own');
});

test('no nonce is used twice after the database was put back, or its counter', async () => {
  const ring = testRing();
  const directory = newPlace();
  const copies = [newPlace(), newPlace()] as const;
  const sealOneIn = async (place: string) => {
    await using storage = await openAt(place, sealingBy(ring));
    await storage.tenants.ensure('acme', NOW_MS);
    await append(storage, request('acme', [eventOf(0, 'Secret')]));
  };
  await sealOneIn(directory);
  for (const copy of copies) cpSync(directory, copy, { recursive: true });
  {
    using db = openRunningJournal(copies[1]);
    db.exec('UPDATE tenant_keys SET blocks = 0');
  }
  for (const place of [directory, ...copies]) await sealOneIn(place);
  const places = [directory, ...copies].map(boxesIn);
  for (const boxes of places) assert.equal(boxes.length, 2);
  assert.equal(new Set(places.flat().map(({ keyId }) => keyId)).size, 1, 'all under one key');
  assert.equal(new Set(places.flat().map(nonceIn)).size, 1 + places.length);
});

const LARGE = 200;
const SECOND_HALF = 2 ** 47;
const manyEvents = (count: number) => Array.from({ length: count }, (_, i) => eventOf(i, 'Secret'));

test('large pools are sealed ahead of the writer, small ones by it, and no nonce is used twice', async () => {
  const ring = testRing();
  const directory = newPlace();
  for (let round = 0; round < 2; round++) {
    await using storage = await openAt(directory, sealingBy(ring), true);
    await storage.tenants.ensure('acme', NOW_MS);
    // The keys come back with the first large pool.
    for (const count of [LARGE, 1, LARGE, LARGE, 3])
      await append(storage, request('acme', manyEvents(count)));
    const end = (round + 1) * (3 * LARGE + 4);
    for (const event of await storage.log.forTenant('acme').events(0, end, end))
      assert.match(soundContent(event).texts[0], new RegExp(CANARY));
  }
  const boxes = boxesIn(directory);
  assert.equal(new Set(boxes.map(nonceIn)).size, 2 * (3 * LARGE + 4));
  const ahead = boxes.filter((box) => numberIn(box) >= SECOND_HALF);
  assert.equal(ahead.length, 2 * 2 * LARGE);
});

test('a box that was made ahead for another month, or under a key that is closed by now, is not stored', async () => {
  const directory = newPlace();
  await using storage = await openAt(directory, sealingBy(), true);
  await storage.tenants.ensure('acme', NOW_MS);
  const appendAt = (nowMs: number) => append(storage, request('acme', manyEvents(LARGE)), now(nowMs));
  await appendAt(NOW_MS);
  const later = NOW_MS + 90 * 86_400_000;
  await appendAt(later);
  // The clock was put back; time in a log is not.
  await appendAt(NOW_MS);
  await appendAt(later);
  using db = openRunningJournal(directory);
  db.exec("UPDATE tenant_keys SET state = 'Closed' WHERE purpose = 'Content'");
  await appendAt(later);
  const rows = db
    .prepare(
      `SELECT key_id, text1, month, leaf_index FROM contents JOIN entries USING (id)
         JOIN tenant_keys USING (tenant, key_id) ORDER BY leaf_index`,
    )
    .all();
  const months = Array.from({ length: 5 }, (_, i) => rows.slice(i * LARGE, (i + 1) * LARGE));
  const seen = months.map((own) => [
    new Set(own.map(({ key_id: keyId }) => keyId)).size,
    own[0]!['month'],
    own.filter((row) => numberIn({ keyId: '', box: row['text1'] as Uint8Array }) >= SECOND_HALF).length,
  ]);
  const month = seen[0]![1] as number;
  assert.deepEqual(seen, [
    [1, month, 0],
    [1, month + 3, 0],
    [1, month + 3, 0],
    [1, month + 3, LARGE],
    [1, month + 3, 0],
  ]);
  assert.notEqual(rows.at(-1)!['key_id'], rows[3 * LARGE]!['key_id']);
});

async function sealedPlace(ring: RingData): Promise<string> {
  const directory = newPlace();
  await using storage = await openAt(directory, sealingBy(ring));
  for (const tenant of ['acme', 'beta']) {
    await storage.tenants.ensure(tenant, NOW_MS);
    await append(
      storage,
      request(
        tenant,
        [0, 1, 2].map((i) => eventOf(i, 'Secret')),
      ),
    );
  }
  return directory;
}

const idOf = (tenant: string, index: number) =>
  `(SELECT id FROM entries JOIN tenants USING (tenant) WHERE tenant_id = '${tenant}' AND leaf_index = ${index})`;
const moved = (from: string, to: string, columns = 'text1 = source.text1, key_id = source.key_id') =>
  `UPDATE contents SET ${columns} FROM (SELECT * FROM contents WHERE id = ${from}) AS source WHERE contents.id = ${to}`;

const MOVES = {
  'to another row': moved(idOf('acme', 0), idOf('acme', 1)),
  'to another tenant': moved(idOf('beta', 1), idOf('acme', 1)),
  'to another column': `UPDATE contents SET text2 = text1, text1 = x'' WHERE id = ${idOf('acme', 1)}`,
  'beside another text': `UPDATE contents SET text2 = CAST('{}' AS BLOB) WHERE id = ${idOf('acme', 1)}`,
  'beside other seeds': `UPDATE contents SET seeds = x'00' WHERE id = ${idOf('acme', 1)}`,
  'beside what deleted units leave': `UPDATE contents SET closed = x'00' WHERE id = ${idOf('acme', 1)}`,
  'and named to be under another key': moved(idOf('beta', 1), idOf('acme', 1), 'key_id = source.key_id'),
  'with a byte changed': `UPDATE contents SET text1 = CAST(substr(text1, 1, 40) || x'00' || substr(text1, 42) AS BLOB)
    WHERE id = ${idOf('acme', 1)}`,
  'with its key destroyed': `UPDATE tenant_keys SET sealed = x'' WHERE purpose = 'Content'`,
  'with its key taken away': `DELETE FROM tenant_keys WHERE purpose = 'Content'`,
  'with its key cut short': `UPDATE tenant_keys SET sealed = substr(sealed, 1, 50) WHERE purpose = 'Content'`,
  'with its key exchanged': `UPDATE tenant_keys SET sealed = (SELECT sealed FROM tenant_keys AS other
    WHERE other.purpose = 'Content' AND other.tenant <> tenant_keys.tenant) WHERE purpose = 'Content'`,
};

/** The events of a tenant that the index can read. */
function readByIndex(directory: string, ring: RingData): readonly number[] {
  using db = openRunningJournal(directory);
  using keyring = new Keyring(ring);
  const log = new JournalEvents(db, 'audit.example.com', () => 0, new SealedRows(keyring));
  return log
    .between('acme', 0, 3, 1_000_000)
    .flatMap(({ index, event }) => (event === undefined ? [] : index));
}

for (const [how, sql] of Object.entries(MOVES)) {
  test(`a box that is moved ${how} does not open, and is said to be altered`, async () => {
    const ring = testRing();
    const directory = await sealedPlace(ring);
    assert.deepEqual(readByIndex(directory, ring), [0, 1, 2]);
    {
      using db = openRunningJournal(directory);
      db.exec(sql);
    }
    assert.ok(!readByIndex(directory, ring).includes(1), 'the index does not read it either');
    await using storage = await openAt(directory, sealingBy(ring));
    const log = storage.log.forTenant('acme');
    const [event] = await log.events(1, 2, 1);
    assert.ok(event?.content !== undefined && 'fault' in event.content, JSON.stringify(event?.content));
    assert.equal(/destroyed/.test(event.content.fault), how.includes('destroyed'));
    assert.match(
      event.content.fault,
      /is not what was (hashed|stored)|is not there|is destroyed, and it is still stored/,
    );
  });
}

test('a service with the keyring reads sealed content, also once it seals no new content', async () => {
  const ring = testRing();
  const directory = await sealedPlace(ring);
  await using storage = await openAt(directory, sealingBy(ring, []));
  await append(storage, request('acme', [eventOf(9, 'Secret')]));
  const events = await storage.log.forTenant('acme').events(0, 4, 4);
  for (const event of events) assert.match(soundContent(event).texts[0], new RegExp(CANARY));
  using db = openRunningJournal(directory);
  const sealed = db.prepare('SELECT count(key_id) AS count FROM contents').get();
  assert.equal(sealed?.['count'], 6);
  assert.equal(CLASSIFICATIONS.length, 4);
});
