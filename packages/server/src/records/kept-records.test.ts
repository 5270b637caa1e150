import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../testing/fake-clock.ts';
import { AS_THEY_ARE, KeptRecords } from './kept-records.ts';
import type { RecordReader, StoredRecord } from './records.ts';

const FRESH_MS = 5;

function setUp() {
  const clock = createFakeClock();
  const state = { version: 1 as unknown, fails: false, looks: 0, reloads: 0, genuine: new Set(['ours']) };
  const forged: string[] = [];
  const kept = new KeptRecords({
    clock,
    reader: {
      freshMs: () => FRESH_MS,
      async version() {
        state.looks++;
        if (state.fails) throw new Error('the database is away');
        return state.version;
      },
    } as RecordReader,
    macs: { isGenuine: ({ id }) => state.genuine.has(id) },
    async reloadKeys() {
      state.reloads++;
    },
    onForged: ({ id }) => void forged.push(id),
  });
  let reads = 0;
  const read = async () => ++reads;
  return { clock, state, forged, kept, read, reads: () => reads };
}

const record = (id: string) => ({ id }) as StoredRecord;

test('what was read is kept until the version is another one, which is looked at now and then', async () => {
  const { clock, state, kept, read } = setUp();
  assert.equal(await kept.get('a', read), 1);
  for (let i = 0; i < 10; i++) {
    await clock.advance(FRESH_MS - 1);
    assert.equal(await kept.get('a', read), 1);
  }
  assert.equal(state.looks, 6, 'every second time the last look is too long ago');
  state.version = 2;
  await clock.advance(FRESH_MS - 1);
  const before = await kept.get('a', read);
  await clock.advance(1);
  assert.deepEqual([before, await kept.get('a', read)], [1, 2]);
  assert.equal(await kept.get('b', read), 3, 'under another name is another one');
});

test('what this process changes is forgotten at once', async () => {
  const { kept, read, state } = setUp();
  assert.equal(await kept.get('a', read), 1);
  kept.forget();
  assert.equal(await kept.get('a', read), 2);
  assert.equal(state.looks, 1);
});

test('what was being read when all was forgotten is not kept', async () => {
  const { kept, read } = setUp();
  const slow = Promise.withResolvers<number>();
  const asked = kept.get('a', () => slow.promise);
  await new Promise(setImmediate);
  kept.forget();
  slow.resolve(99);
  assert.equal(await asked, 99);
  assert.equal(await kept.get('a', read), 1);
});

test('what is being read is waited for, and is read once', async () => {
  const { kept, read, reads } = setUp();
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => kept.get('a', read))), [1, 1, 1]);
  assert.equal(reads(), 1);
});

test('what is not there is not kept, and neither is what could not be read', async () => {
  const { kept, read } = setUp();
  assert.equal(await kept.get('a', async () => undefined), undefined);
  await assert.rejects(
    kept.get('a', async () => {
      throw new Error('the database is away');
    }),
    /away/,
  );
  assert.equal(await kept.get('a', read), 1);
  assert.equal(await kept.get('a', async () => undefined), 1);
});

test('where the version cannot be read nothing is given, though it was read before', async () => {
  const { clock, state, kept, read } = setUp();
  assert.equal(await kept.get('a', read), 1);
  state.fails = true;
  await clock.advance(FRESH_MS);
  await assert.rejects(kept.get('a', read), /away/);
  await assert.rejects(kept.get('b', read), /away/);
  state.fails = false;
  await clock.advance(FRESH_MS);
  assert.equal(await kept.get('a', read), 1);
});

test('a record of ours is given without a look at the keys, a forged one is none and is told of', async () => {
  const { state, forged, kept } = setUp();
  assert.equal(await kept.genuine(undefined), undefined);
  assert.equal((await kept.genuine(record('ours')))?.id, 'ours');
  assert.equal(state.reloads, 0);
  assert.equal(await kept.genuine(record('forged')), undefined);
  assert.deepEqual([state.reloads, forged], [1, ['forged']]);
  const all = await kept.allGenuine(['ours', 'forged', 'ours'].map(record));
  assert.deepEqual(
    all.map(({ id }) => id),
    ['ours', 'ours'],
  );
});

test('a record of a key that another process has just made is one of ours', async () => {
  const { state, forged, kept } = setUp();
  const reloading = new KeptRecords({
    clock: createFakeClock(),
    reader: {} as RecordReader,
    macs: { isGenuine: ({ id }) => state.genuine.has(id) },
    reloadKeys: async () => void state.genuine.add('of the new key'),
    onForged: ({ id }) => void forged.push(id),
  });
  assert.equal((await reloading.genuine(record('of the new key')))?.id, 'of the new key');
  assert.equal(await kept.genuine(record('of no key')), undefined);
  assert.deepEqual(forged, ['of no key']);
});

test('a caller without keys, which only lists, gets the stored records', async () => {
  assert.equal(await AS_THEY_ARE.get('a', async () => 1), 1);
  assert.equal((await AS_THEY_ARE.genuine(record('forged')))?.id, 'forged');
  assert.equal((await AS_THEY_ARE.allGenuine([record('forged')])).length, 1);
});
