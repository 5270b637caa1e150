import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { openRunningJournal } from '../../testing/running-journal.ts';
import { ALL_CLAIMS, CONTENT_CLAIMS } from '../conformance/all-claims.ts';
import { secretKeyClaims } from '../conformance/secret-keys.ts';
import { type LogRow, type TestInstallation, STREAMS } from '../conformance/claims.ts';
import { SEED_BYTES } from '../pool/commitments.ts';
import type { RingData } from '../sealing/keyring.ts';
import { SEALED_COLUMNS } from '../sealing/sealed-rows.ts';
import { sealingWith } from '../sealing/sealing.ts';
import { sealingBy, testRing, TextsBeside } from '../../testing/sealed-store.ts';
import { watched } from '../conformance/watched.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-sqlite-'));
after(() => rmSync(folder, { recursive: true }));

const isLong = process.env['FAULTS'] === 'long';

/** The kinds of messages and answers. */
const seen = { inProcess: new Set<string>(), withThreads: new Set<string>() };

function placeFor(threads: boolean, ring?: RingData): TestInstallation {
  const directory = mkdtempSync(join(folder, 'data-'));
  const raw = () => openRunningJournal(directory);
  const opening = sealingWith({ ring, sealed: 0 });
  const beside = new TextsBeside();
  const plainRing = testRing();
  return {
    async open(streams) {
      const storage = await openSqliteStorage({
        directory,
        logOrigin: 'audit.example.com',
        streams: { ...STREAMS, ...streams },
        clock: systemClock,
        random: createSystemRandom(),
        threads,
        exclusive: threads,
        openSealing: ring === undefined ? sealingBy(plainRing, []) : sealingBy(ring),
        onFatal: (error) => {
          throw error;
        },
      });
      return watched(storage, '', threads ? seen.withThreads : seen.inProcess);
    },
    async rows(tenant) {
      using db = raw();
      return db
        .prepare(
          `SELECT leaf_index, entry, leaf, root1, root2, text1, text2, seeds, ${SEALED_COLUMNS.SQLite} FROM entries JOIN contents USING (id)
           WHERE tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?) ORDER BY leaf_index`,
        )
        .all(tenant)
        .map((stored): LogRow => {
          const row = opening.rows.open(stored);
          const bytes = (column: string) => row[column] as Uint8Array;
          return {
            index: Number(row['leaf_index']),
            entry: bytes('entry'),
            leaf: bytes('leaf'),
            roots: [bytes('root1'), bytes('root2')],
            texts: [bytes('text1'), bytes('text2')],
            seeds: [bytes('seeds').subarray(0, SEED_BYTES), bytes('seeds').subarray(SEED_BYTES)],
          };
        });
    },
    async removeContent(tenant, index) {
      using db = raw();
      db.prepare(
        `DELETE FROM contents WHERE id = (SELECT id FROM entries JOIN tenants USING (tenant)
         WHERE tenant_id = ? AND leaf_index = ?)`,
      ).run(tenant, index);
    },
    async putDeletion(tenant, { firstIndex, endIndex, noticeIndex }) {
      using db = raw();
      db.prepare('INSERT INTO deletions SELECT tenant, ?, ?, ? FROM tenants WHERE tenant_id = ?').run(
        firstIndex,
        endIndex,
        noticeIndex,
        tenant,
      );
    },
    async putRedaction(tenant, { index, noticeIndex }) {
      using db = raw();
      const put = db.prepare('INSERT INTO redactions SELECT tenant, ?, ? FROM tenants WHERE tenant_id = ?');
      put.run(index, noticeIndex, tenant);
    },
    async removeRedaction(tenant, { index, noticeIndex }) {
      using db = raw();
      db.prepare(
        `DELETE FROM redactions WHERE leaf_index = ? AND notice_index = ?
           AND tenant = (SELECT tenant FROM tenants WHERE tenant_id = ?)`,
      ).run(index, noticeIndex, tenant);
    },
    async alterContent(tenant, index, wanted) {
      const text = ring === undefined ? wanted : beside.of(tenant, index, wanted);
      using db = raw();
      db.prepare(
        `UPDATE contents SET text2 = CAST(? AS BLOB) WHERE id = (SELECT id FROM entries JOIN tenants USING (tenant)
         WHERE tenant_id = ? AND leaf_index = ?)`,
      ).run(text, tenant, index);
    },
  };
}

/**
 * Threads run the same code as one process does, and starting them takes longer than the claims. Those that are made through
 * them use every kind of message, in concurrent calls, in reads beside a write and over a store that is opened again; the
 * long form makes all.
 */
const THROUGH_THREADS = new Set([
  'what a job has heard is kept with its outcome, until it hears something else',
  'acknowledged events are unchanged after reopening, byte for byte',
  'a request with a fault of its own is left out, and the others of its pool are appended',
  'a probe commits and leaves no event',
  'of many that come at once under one key, exactly one stores',
  'a key is not used up by a request of which nothing was appended or recognised',
  'keys whose window has ended are swept away in portions, the others stay',
  'the keys of a tenant recognise nothing once their windows are ended; later ones and those of others do',
  'of several ids in a request each is recognised for itself; an atomic one fails by a right guess as by a wrong one',
  'earlier requests of the same pool are no exception',
  'the first call decides which key signs, also after a restart',
  'a tenant is made once, with a key of its own, and stays',
  'the key of fingerprints is replaced for one tenant, and for everybody who has read it',
  'concurrent calls for tenants get the same ones',
  'a tenant comes with the newest version of its settings',
  'tenants are listed by name and state, with their settings, from both ends, without the installation',
  'of many changes that begin at one version, one is done, and no version is left out',
  'a unique name belongs to one record until that gives it up',
  'a record comes back as it was put, by its id, by its lookup and in lists',
  'the version of all records is another one after every change, and after nothing else',
  'of all uses of a key the latest is kept, from any process',
  'a head is given at each size that was asked for, and at the end of each stream',
  'a stored checkpoint gains signatures, and is still the newest one when the store is opened again',
  'a seal that is repeated under its key gets what was answered first, and seals nothing more',
  'a key is not used up by a seal that was not done, and belongs to its operation',
  'reads of a stream and of the log see one state, also while events are appended',
  'the new log is read back, published and proven by itself, and the old one stays as it was signed',
  'it is not begun if the store has the anchored head, nor for a log of another tenant',
  'another history is never continued, whether it is longer or shorter than the anchored one',
  'a log that must not go on is not sealed when its day is over, and the others are',
  'events are purged for every reader from the commit of the notice on, also while their content is there',
  'a removal goes on after a restart wherever it stopped, and no proof that was given breaks',
  'they are deleted once the notice is signed, a repeat changes nothing, and the event still proves itself',
  'an id whose event has lost something is taken, from the commit of the notice on',
  'expired content is found in runs of one decision, and nothing before its time',
  'a marked stream is purged if it is sealed, and is listed and counted as that',
  'a request that has not seen the newest hold is refused as a whole, and one that has is appended',
  'a job is held by one at a time, and by the next one when its lease is over',
  'a job that failed comes again when it is due, and one that is put off has not been tried',
  'a job without attempts left is a dead letter, which is retried on request',
  'a job that ends leads to others in the same commit, unless it is not held any more',
  'expired jobs are swept, and nothing else',
  'concurrent claims never get the same job, and together respect the lane',
  'a lane is closed once, with the jobs that this causes, when so many fail in a row',
  'a claim takes no more of a tenant, and of a lane, than it may',
  'the jobs of a lane are listed by state, and dead ones retried together',
  'a backlog tells what is not done, since when it waits, and which lanes are closed',
  'a job that is due and that nobody claims is overdue, unless its lane is closed or rests, or others are held',
  'a change and the job that it causes are stored together, and the job is there at once',
  'violations and windows are stored with the position, or not at all',
]);

describe('SQLite in process', () => {
  for (const [claim, holds] of ALL_CLAIMS) it(claim, () => holds(placeFor(false)));
});

describe('SQLite with all content sealed', () => {
  for (const [claim, holds] of isLong ? ALL_CLAIMS : CONTENT_CLAIMS)
    it(claim, () => holds(placeFor(false, testRing())));
});

describe('SQLite with threads', () => {
  for (const [claim, holds] of ALL_CLAIMS) {
    if (isLong || THROUGH_THREADS.has(claim)) it(claim, () => holds(placeFor(true)));
  }
  // Keys are destroyed only where there are any.
  for (const [claim, holds] of Object.entries(secretKeyClaims))
    it(`${claim}, with all content sealed`, () => holds(placeFor(true, testRing())));

  it('sends and receives every kind of message that is used in process', () => {
    assert.deepEqual([...seen.inProcess.symmetricDifference(seen.withThreads)], []);
    assert.ok(seen.inProcess.size > 100, `${seen.inProcess.size} forms`);
  });

  it('chooses existing claims', () => {
    const titles = new Set(ALL_CLAIMS.map(([claim]) => claim));
    assert.deepEqual([...THROUGH_THREADS.difference(titles)], []);
  });
});
