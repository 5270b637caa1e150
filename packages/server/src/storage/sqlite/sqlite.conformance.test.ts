import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { openRunningJournal } from '../../testing/running-journal.ts';
import { ALL_CLAIMS } from '../conformance/all-claims.ts';
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
 * Claims that the writer alone decides, one request after another, with the same code in a thread as in process, and
 * with messages that other claims cover. Everything else runs both ways: claims with their own messages, concurrent
 * calls, reads beside a write, or a reopened store; and so does every new claim.
 */
const DECIDED_BY_THE_WRITER = new Set([
  'receivedAt is the wall clock, and stands still while the clock is behind',
  'a key is of its tenant and its operation',
  'a key counts until its window ends by steady time, not by the wall clock',
  'an id that stands twice in a request or a pool is recognised there too',
  'no other text takes the place of a stored checkpoint, and no signature is lost',
  'a tenant without events has no stream, and the first event opens one',
  'the first event of another UTC day seals the stream before it and begins the next one',
  'streams are cut at whole multiples of any age, however young they are',
  'a stream that holds as many events as it may is sealed at once, and the next one is open and empty',
  'streams of one event each are sealed one by one, and their notices seal nothing more',
  'an empty stream has no age: it takes the next event, whenever that comes',
  'a clock that goes back seals nothing, and one that comes again seals nothing twice',
  'recognised or refused drafts seal nothing',
  'a key is not used up by a seal that was not done, and belongs to its operation',
  'if the last entry before is a seal, its open stream is used',
  'an event that is sent again is recognised at its index in the sequence, in any log',
  'a name that one owner gives up is not free for another record of a second owner',
  'two records of one request cannot have the same unique name',
  'notices keep their content in every range',
  'an id whose event is purged is taken, from the commit of the notice on',
  'in a log after a restore, the indexes of a notice count from its own first entry',
  // Jobs and violations: the thread runs the same code, and other claims cover every message.
  'of jobs with one unique key there is one until it is done',
  'a tenant has no more waiting jobs of a kind than it may, and the oldest that are done go',
  'a tenant with many jobs does not delay others',
  'a tenant alone gets all that is claimed, the oldest first',
  'lanes of a tenant take turns, and none has more under way than it may',
  'a follower that begins at the end takes new entries, also of new tenants',
  'violations are listed by each filter, in both directions, as many as are asked for',
  'violations are counted up to one more than a total is exact for',
  'windows are gone when their time is over, and those of other tenants stay',
  'of the windows of a rule the newest are kept',
]);

describe('SQLite in process', () => {
  for (const [claim, holds] of ALL_CLAIMS) it(claim, () => holds(placeFor(false)));
});

describe('SQLite with all content sealed', () => {
  for (const [claim, holds] of ALL_CLAIMS) it(claim, () => holds(placeFor(false, testRing())));
});

describe('SQLite with threads', () => {
  for (const [claim, holds] of ALL_CLAIMS) {
    if (!DECIDED_BY_THE_WRITER.has(claim)) it(claim, () => holds(placeFor(true)));
  }
  // Keys are destroyed only where there are any.
  for (const [claim, holds] of Object.entries(secretKeyClaims))
    it(`${claim}, with all content sealed`, () => holds(placeFor(true, testRing())));

  it('sends and receives every kind of message that is used in process', () => {
    assert.deepEqual([...seen.inProcess.symmetricDifference(seen.withThreads)], []);
    assert.ok(seen.inProcess.size > 100, `${seen.inProcess.size} forms`);
  });

  it('leaves out only existing claims', () => {
    const titles = new Set(ALL_CLAIMS.map(([claim]) => claim));
    assert.deepEqual(
      [...DECIDED_BY_THE_WRITER].filter((claim) => !titles.has(claim)),
      [],
    );
  });
});
