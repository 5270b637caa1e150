// P7, and what surrounds a store: a database that is put back, another history, an anchor or pages that are damaged, a
// key that is not the right one, and a service that goes on meanwhile.

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { formatCheckpoint, noteSigner, parseCheckpoint, parseNote } from '@tallystick/evidence';
import {
  checkStore,
  type StoreFault,
  type StoreCheckRequest,
} from '../../packages/server/src/check-store.ts';
import { signCheckpointHead, verifierKeys } from '../../packages/server/src/keys/signing-keys.ts';
import { openOwnAnchor, readAnchorAt } from '../../packages/server/src/storage/anchor/file-anchor.ts';
import { loadSigningKeys } from '../../packages/server/src/storage/keys/signing-key-files.ts';
import { Client } from './client.ts';
import { startService, temporaryFolder } from './running.ts';
import { copyDirectory, LOG_ORIGIN, Maker, type MadeStore, makeStore } from './tamper/made-store.ts';

type Found = [tenant: string | undefined, reason: string, index: number | undefined];

const EVENT = {
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Read.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
};
const ENTRIES_WHILE_VERIFIED = 2000;
const NOTHING_GIVEN: StoreCheckRequest = { keys: [], seen: [] };

const sizeOf = (note: string) => parseCheckpoint(parseNote(note).text).size;

async function found(directory: string, request: Partial<StoreCheckRequest> = {}): Promise<Found[]> {
  const { faults, verified } = await checkStore(directory, { ...NOTHING_GIVEN, ...request });
  assert.equal(verified, faults.length === 0);
  return faults.map(({ tenant, reason, index }: StoreFault): Found => [tenant, reason, index]);
}

describe('around a store', { concurrency: 1 }, () => {
  let store: MadeStore;
  const copies: string[] = [];

  before(async () => {
    store = await makeStore();
  });
  after(() => {
    store[Symbol.dispose]();
    for (const copy of copies) rmSync(copy, { recursive: true, force: true });
  });

  /** A copy to do something to. */
  function copy(): string {
    const directory = copyDirectory(store.directory);
    copies.push(directory);
    return directory;
  }

  const journalOf = (directory: string) => join(directory, 'journal.db');

  it('a database that is put back to an earlier state is a rollback', async () => {
    const directory = copy();
    copyFileSync(store.earlier, journalOf(directory));
    assert.deepEqual(await found(directory), [
      ['acme', 'ROLLBACK', 72],
      ['globex', 'ROLLBACK', 30],
    ]);
  });

  it('a log whose checkpoints are all gone is not verified by the key that would have signed them', async () => {
    const directory = copy();
    {
      using db = new DatabaseSync(journalOf(directory));
      db.exec(`DELETE FROM checkpoints; DELETE FROM tile_hashes`);
    }
    const keys = verifierKeys((await loadSigningKeys(directory))!, `${LOG_ORIGIN}/t/acme`);
    assert.deepEqual(
      (await found(directory, { keys })).map(([tenant, reason]) => [tenant, reason]),
      [
        ['acme', 'KEY_UNKNOWN'],
        ['globex', 'KEY_UNKNOWN'],
      ],
    );
  });

  it('other events behind a rollback, signed with the right key, are a fork', async () => {
    const directory = copy();
    copyFileSync(store.earlier, journalOf(directory));
    {
      await using maker = await Maker.open(directory);
      await maker.events('acme', 100, 'Deny.Everything');
      await maker.events('globex', 40, 'Deny.Everything');
      await maker.publish({ anchored: false });
    }
    const faults = await found(directory);
    assert.deepEqual(
      faults.map(([tenant, reason]) => [tenant, reason]),
      [
        ['acme', 'FORK'],
        ['globex', 'FORK'],
      ],
    );
    rmSync(join(directory, 'anchor'));
    assert.deepEqual(
      (await found(directory)).map(([, reason]) => reason),
      ['HISTORY_UNPROVEN'],
      'without the anchor nothing else is wrong with it',
    );
  });

  it('an openly declared restore is no fault, however often, and with anything between', async () => {
    const directory = copy();
    const goOn = async (more: (maker: Maker) => Promise<void>) => {
      copyFileSync(store.earlier, journalOf(directory));
      await using maker = await Maker.open(directory);
      await more(maker);
      await maker.events('acme', 3, 'Go.On');
      await maker.seal('acme');
      await maker.publish();
    };
    await goOn(async (maker) => {
      await maker.beginEpoch('globex');
      await maker.beginEpoch('acme');
    });
    assert.deepEqual(await found(directory), []);
    // Now the copy knows nothing of the first time.
    await goOn(async (maker) => {
      await maker.beginEpoch('globex', '/1');
      await maker.beginEpoch('acme', '/1');
    });
    assert.deepEqual(await found(directory), []);
    const { tenants } = await checkStore(directory, NOTHING_GIVEN);
    assert.deepEqual(
      tenants[0]!.logs.map(({ origin, entries }) => [origin, entries]),
      [
        [`${LOG_ORIGIN}/t/acme`, 72],
        [`${LOG_ORIGIN}/t/acme/2`, 5],
      ],
    );
  });

  it('a checkpoint that was seen is excused by the log that names it, not by a gap in the numbers of epochs', async () => {
    const directory = copy();
    const notesOf = (epoch: number): string[] => {
      using db = new DatabaseSync(journalOf(directory), { readOnly: true });
      const sql = 'SELECT note FROM checkpoints WHERE tenant = 1 AND epoch = ? ORDER BY size';
      return db
        .prepare(sql)
        .all(epoch)
        .map((row) => String(row['note']));
    };
    const said = async (note: string): Promise<string[]> => {
      const { faults } = await checkStore(directory, { ...NOTHING_GIVEN, seen: [note] });
      return faults.map(({ tenant, reason, message }) => `${tenant} ${reason}: ${message}`);
    };
    const goOn = async (before: string) => {
      copyFileSync(store.earlier, journalOf(directory));
      await using maker = await Maker.open(directory);
      for (const tenant of ['globex', 'acme']) await maker.beginEpoch(tenant, before);
      await maker.publish();
      await maker.events('acme', 3, 'Go.On');
      await maker.publish();
    };
    const [last, between] = notesOf(0).toReversed();
    const lost = (size: number, name = 'seen') =>
      `acme ROLLBACK: ${LOG_ORIGIN}/t/acme was ${name} with ${size} entries and has 72`;
    await goOn('');
    assert.deepEqual(await said(last!), [], 'the log after it says that this one is lost');
    assert.deepEqual(await said(between!), [lost(sizeOf(between!))]);
    const [first, second] = notesOf(1);
    await goOn('/1');
    assert.deepEqual(await found(directory), [], 'gaps are legal');
    assert.deepEqual(await said(second!), [], 'the log after it says that this one is lost');
    assert.deepEqual(await said(first!), [
      `acme ROLLBACK: the log ${LOG_ORIGIN}/t/acme/1 was seen with 1 entries, and is not there`,
    ]);
    assert.deepEqual(await said(last!), [lost(sizeOf(last!))]);
    {
      await using anchor = await openOwnAnchor(directory);
      const root = new Uint8Array(32).fill(1);
      await anchor.append([{ origin: `${LOG_ORIGIN}/t/acme/1`, size: 99, root }]);
    }
    assert.deepEqual(await found(directory), [['acme', 'ROLLBACK', undefined]], 'another head than is named');
  });

  it('an epoch that nobody has begun excuses nothing', async () => {
    const directory = copy();
    copyFileSync(store.earlier, journalOf(directory));
    const anchored = (await readAnchorAt(directory)).heads().get(`${LOG_ORIGIN}/t/acme`)!;
    using db = new DatabaseSync(journalOf(directory));
    db.prepare(
      'INSERT INTO epochs (tenant, epoch, first_index, previous_checkpoint) VALUES (1, 1, 72, ?)',
    ).run(formatCheckpoint(anchored));
    db.close();
    assert.deepEqual(await found(directory, { tenant: 'acme' }), [['acme', 'ROLLBACK', 72]]);
  });

  it('an epoch excuses what is lost once it is signed, and not before', async () => {
    const directory = copy();
    copyFileSync(store.earlier, journalOf(directory));
    {
      await using maker = await Maker.open(directory);
      await maker.beginEpoch('acme');
    }
    assert.deepEqual(await found(directory, { tenant: 'acme' }), [['acme', 'HISTORY_UNPROVEN', 72]]);
    {
      await using maker = await Maker.open(directory);
      await maker.publish();
    }
    assert.deepEqual(await found(directory, { tenant: 'acme' }), []);
  });

  it('a checkpoint that was seen of a log that is not looked at is a fault, and not passed over', async () => {
    const directory = copy();
    using db = new DatabaseSync(journalOf(directory), { readOnly: true });
    const { note } = db.prepare('SELECT note FROM checkpoints WHERE tenant = 1 ORDER BY size DESC').get()!;
    db.close();
    const seen = [String(note)];
    assert.deepEqual(await found(directory, { seen, tenant: 'acme' }), []);
    assert.deepEqual(await found(directory, { seen, tenant: 'globex' }), [
      [undefined, 'ORIGIN_MISMATCH', undefined],
    ]);
    const keys = (await loadSigningKeys(directory))!;
    for (const name of [
      'elsewhere.example.com/t/acme',
      `${LOG_ORIGIN}/t/acme/0`,
      `${LOG_ORIGIN}/t/acme/007`,
    ]) {
      const root = new Uint8Array(32).fill(1);
      const strange = [signCheckpointHead({ origin: name, size: 1, root }, keys, Date.now())];
      assert.equal((await found(directory, { seen: strange })).length, 1, name);
      assert.equal((await found(directory, { seen: strange, tenant: 'acme' })).length, 1, name);
    }
  });

  it('other entries than were anchored are a fork, also where less than that and a log after it say they are lost', async () => {
    const directory = copy();
    copyFileSync(store.earlier, journalOf(directory));
    const anchored = (await (await readAnchorAt(directory)).history()).get(`${LOG_ORIGIN}/t/acme`)!;
    const [last, between] = anchored.map(({ size }) => size).toReversed();
    assert.ok(between! > 72, `there are heads of ${between} and ${last} entries`);
    {
      await using maker = await Maker.open(directory);
      await maker.events('acme', between! - 72, 'Deny.Everything');
      assert.deepEqual((await found(directory, { tenant: 'acme' })).at(-1), ['acme', 'FORK', 72]);
      await maker.beginEpoch('acme');
      await maker.beginEpoch('globex');
      await maker.publish();
    }
    assert.deepEqual(await found(directory), [['acme', 'FORK', 72]]);
    using db = new DatabaseSync(journalOf(directory));
    db.exec('DELETE FROM epochs WHERE tenant = 2');
    assert.ok((await found(directory)).some(([tenant]) => tenant === 'globex'));
  });

  it('a checkpoint that was seen before tells a fork where the anchor was forged too', async () => {
    const directory = copy();
    using db = new DatabaseSync(journalOf(directory), { readOnly: true });
    const { note } = db.prepare('SELECT note FROM checkpoints WHERE tenant = 1 ORDER BY size DESC').get()!;
    db.close();
    const seen = [String(note)];
    assert.deepEqual(await found(directory, { seen }), []);
    rmSync(join(directory, 'anchor'));
    copyFileSync(store.earlier, journalOf(directory));
    const shorter = await found(directory, { seen });
    assert.ok(shorter.some(([tenant, reason]) => tenant === 'acme' && reason === 'ROLLBACK'));
    {
      await using maker = await Maker.open(directory);
      await maker.events('acme', 100, 'Deny.Everything');
      await maker.events('globex', 1, 'Deny.Everything');
      await maker.publish();
    }
    assert.deepEqual(await found(directory), [], 'without the checkpoint nothing is wrong with it');
    const faults = await found(directory, { seen });
    assert.deepEqual(
      faults.map(([tenant, reason]) => [tenant, reason]),
      [['acme', 'FORK']],
    );
  });

  it('an anchor that is missing, empty, cut or damaged is a fault', async () => {
    const directory = copy();
    const anchor = join(directory, 'anchor');
    const whole = readFileSync(anchor, 'utf8');
    const records = whole.split(/(?<=\n= .*\n)/);
    writeFileSync(anchor, records.slice(0, -1).join(''));
    assert.deepEqual(
      (await found(directory)).map(([, reason]) => reason),
      ['HISTORY_UNPROVEN'],
    );
    writeFileSync(anchor, 'tallystick-anchor/1\n');
    assert.deepEqual(await found(directory), [[undefined, 'HISTORY_UNPROVEN', undefined]]);
    writeFileSync(anchor, whole.replace('globex', 'glober'));
    assert.deepEqual(await found(directory), [[undefined, 'CHECKSUM_MISMATCH', undefined]]);
    rmSync(anchor);
    assert.deepEqual(await found(directory), [[undefined, 'HISTORY_UNPROVEN', undefined]]);
    writeFileSync(join(directory, 'elsewhere'), whole);
    assert.deepEqual(await found(directory, { anchor: join(directory, 'elsewhere') }), []);
  });

  it('a given key decides, even if it is the key of another log', async () => {
    const keys = (await loadSigningKeys(store.directory))!;
    const right = verifierKeys(keys, `${LOG_ORIGIN}/t/globex`);
    assert.deepEqual(await found(store.directory, { keys: right.slice(0, 1) }), []);
    const { verifierKey: wrong } = await noteSigner(`${LOG_ORIGIN}/t/acme`, new Uint8Array(32).fill(3));
    assert.deepEqual(
      (await found(store.directory, { keys: [wrong] })).map(([tenant, reason]) => [tenant, reason]),
      [
        ['acme', 'KEY_UNKNOWN'],
        ['globex', 'KEY_UNKNOWN'],
      ],
    );
  });

  it('one tenant is verified alone, and one that is not there cannot be', async () => {
    const directory = copy();
    using db = new DatabaseSync(journalOf(directory));
    db.exec('UPDATE streams SET created_at_ms = 1 WHERE tenant = 1');
    db.close();
    assert.deepEqual(await found(directory, { tenant: 'globex' }), []);
    assert.equal((await found(directory, { tenant: 'acme' })).length, 1);
    await assert.rejects(found(directory, { tenant: 'nobody' }), /there is no tenant nobody/);
  });

  it('any page of the file may be damaged: that is said, and is no crash', async () => {
    const directory = copy();
    const whole = readFileSync(journalOf(directory));
    const pageBytes = 16_384;
    for (let page = 0; page < whole.length / pageBytes; page++) {
      const damaged = Buffer.from(whole);
      damaged.fill(0xa5, page * pageBytes, page * pageBytes + 200);
      writeFileSync(journalOf(directory), damaged);
      const faults = await found(directory).catch((error: unknown) => {
        throw new Error(`page ${page + 1}`, { cause: error });
      });
      assert.ok(faults.length > 0, `page ${page + 1}`);
    }
    writeFileSync(journalOf(directory), whole);
    truncateSync(journalOf(directory), whole.length - 3 * pageBytes);
    assert.ok((await found(directory)).length > 0, 'cut');
  });

  it('an event that its index no longer finds is found', async () => {
    const directory = copy();
    const image = readFileSync(journalOf(directory));
    using db = new DatabaseSync(journalOf(directory), { readOnly: true });
    const { event_id: id } = db
      .prepare('SELECT event_id FROM entries WHERE tenant = 1 AND leaf_index = 20')
      .get()!;
    db.close();
    const isInEntry = (at: number) => image.subarray(at - 36, at - 24).equals(Buffer.from('audit-trail/'));
    const places: number[] = [];
    for (let at = image.indexOf(id as Uint8Array); at >= 0; at = image.indexOf(id as Uint8Array, at + 1)) {
      if (!isInEntry(at)) places.push(at);
    }
    assert.equal(places.length, 1, 'the id is in one index');
    image[places[0]! + 15] = image[places[0]! + 15]! ^ 1;
    writeFileSync(journalOf(directory), image);
    assert.deepEqual(await found(directory), [[undefined, 'MALFORMED', undefined]]);
  });

  it('a service that goes on meanwhile is not taken for a forger', async () => {
    using folder = temporaryFolder();
    const env = { Log__CheckpointInterval: 'PT0.1S', Streams__SealAfterEvents: '50' };
    await using service = await startService({ dataDirectory: folder.path, env });
    using client = new Client(service.url);
    const events = Array.from({ length: 20 }, () => EVENT);
    const ended = new AbortController();
    const working = ['acme', 'globex'].map(async (tenant) => {
      while (!ended.signal.aborted) {
        await client.ask({ path: '/api/v1/audit-events/batch', tenant, body: { events } });
      }
    });
    const sizes: number[] = [];
    // On a slow machine much comes between two looks; it is looked at more than once nevertheless.
    while ((sizes.at(-1) ?? 0) < ENTRIES_WHILE_VERIFIED || new Set(sizes).size <= 3) {
      const { faults, totals } = await checkStore(folder.path, NOTHING_GIVEN);
      assert.deepEqual(faults, []);
      sizes.push(totals.entries);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    ended.abort();
    await Promise.all(working);
    assert.ok(new Set(sizes).size > 3, `it was verified at the sizes ${sizes.join(', ')}`);
  });
});
