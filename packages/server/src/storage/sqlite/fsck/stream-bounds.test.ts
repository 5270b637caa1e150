// Stream boundaries of a tenant that continued after a restore, on a real journal without threads.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '../../../runtime/clock.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { draftOf, nextId, now, NOW_MS, request, STREAMS } from '../../conformance/claims.ts';
import { decodePool, encodePool } from '../../pool/append-message.ts';
import { openJournal } from '../connection/database.ts';
import { Journal } from '../append/journal.ts';
import { LogTables } from '../log/log-tables.ts';
import { PoolCommitter } from '../../pool/pool-commitments.ts';
import { addTenants } from '../records/tenants.ts';
import { checkRange } from './range.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-bounds-'));
after(() => rmSync(folder, { recursive: true }));

/** A log with this number of events, and one that continues after a restore; a stream is sealed after three. */
function build(count: number, more = 2) {
  const db = openJournal(mkdtempSync(join(folder, 'data-')));
  const tenants = [{ tenantId: 'acme', fingerprintKey: new Uint8Array(32) }];
  addTenants(db, tenants, NOW_MS);
  const random = createSystemRandom();
  const committer = new PoolCommitter(random);
  const streams = { ...STREAMS, sealAfterEvents: 3 };
  const journal = new Journal(db, { logOrigin: 'x', streams, nextId, random, committer, clock: systemClock });
  const append = (drafts: number) => {
    const appendRequest = request(
      'acme',
      Array.from({ length: drafts }, () => draftOf({ classification: 'Internal' })),
    );
    const pool = decodePool(encodePool([appendRequest], now()));
    journal.append(pool, committer.make(pool.requests));
  };
  append(count);
  const anchored = { origin: 'x/t/acme', size: 1000, root: new Uint8Array(32) };
  const { status } = journal.beginEpoch({ tenant: 'acme', anchored }, now(NOW_MS + 1000));
  assert.equal(status, 'Begun');
  append(more);
  const tables = new LogTables(db, 'x');
  return { db, streams: () => tables.streams('acme', { after: undefined }, 100) };
}

type Built = ReturnType<typeof build>;

/** For each stream, the fault of the verification and the fault of a plain read. */
function saidOf({ db, streams }: Built) {
  return streams().map(({ streamId, firstIndex, endIndex, fault }) => {
    const range = { tenant: 'acme', fromIndex: firstIndex, endIndex, streamId };
    for (const steps = checkRange(db, 'x', range); ; ) {
      const step = steps.next();
      if (step.done !== true) continue;
      const found = step.value.fault;
      return [
        `${firstIndex}-${endIndex}`,
        found && `${found.index} ${found.message.replace(/\b[0-9A-Z]{26}\b/gu, 'ID')}`,
        fault,
      ];
    }
  });
}

test('a stream that ended with its log, without a seal, and the one that continues after it are verified', () => {
  // The restore happens within a stream.
  assert.deepEqual(saidOf(build(5)), [
    ['0-4', undefined, undefined],
    ['4-6', undefined, undefined],
    ['6-10', undefined, undefined],
    ['10-10', undefined, undefined],
  ]);
  // It happens right after a seal: the empty stream continues.
  assert.deepEqual(saidOf(build(3)), [
    ['0-4', undefined, undefined],
    ['4-8', undefined, undefined],
    ['8-8', undefined, undefined],
  ]);
});

test('if no stream begins with the log after a restore, a stream in both logs is not verified', () => {
  const built = build(5);
  built.db.exec('DELETE FROM streams WHERE first_index = 6');
  const [, both, behind] = saidOf(built);
  assert.deepEqual(both, [
    '4-10',
    '9 the seal notice at index 9 says stream ID from entry 0 on, of which there is no row',
    undefined,
  ]);
  assert.match(String(behind?.[1]), /^9 the seal notice at index 9 says stream ID from entry 0 on/u);

  const open = build(4, 1);
  open.db.exec('DELETE FROM streams WHERE first_index = 5');
  assert.deepEqual(saidOf(open)[1], ['4-7', '5 no stream begins with the log', undefined]);

  const unsealed = build(4);
  unsealed.db.exec('DELETE FROM streams WHERE first_index >= 5');
  assert.deepEqual(saidOf(unsealed)[1]?.slice(0, 2), [
    '4-9',
    '8 the seal notice at index 8 says that a stream follows, and there is no such row at 9',
  ]);
});

test('the stream behind a seal and a restore is still the one that the notice names', () => {
  const built = build(3);
  built.db.exec("UPDATE streams SET stream_id = '01M7GTJ5PZNQPSF014AQ2B0P99' WHERE first_index = 4");
  for (const place of [0, 1]) {
    assert.equal(
      saidOf(built)[place]?.[1],
      '3 the seal notice at index 3 says that stream ID follows, and there is no such row at 4',
    );
  }
});
