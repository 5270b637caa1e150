// Claims about a tenant that continues after a restore: its sequence has no gap, the new log is independent under its
// own name, and the old one is unchanged.

import assert from 'node:assert/strict';
import { CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import {
  CompactRange,
  decodeEntry,
  epochGenesisHash,
  formatCheckpoint,
  genesisHash,
  KINDS,
  leafHash,
  parseJson,
  toBase64,
  verifyInclusion,
} from '@tallystick/evidence';
import type { EpochRequest, EpochResult } from '../../streams/log.ts';
import type { Storage } from '../storage.ts';
import {
  append,
  type Claims,
  draftOf,
  fingerprint,
  type LogRow,
  now,
  NOW_MS,
  openWith,
  type TestInstallation,
  placedIn,
  request,
} from './claims.ts';
import { fill, publish, readAll } from './tree.ts';

const ORIGIN = 'audit.example.com/t/acme';
const ROOT = new Uint8Array(32).fill(7);

/** A head whose entries the store does not have. */
const anchoredAt = (size: number, epoch = 0, tenant: TenantId = 'acme'): EpochRequest => ({
  tenant,
  anchored: {
    origin: `audit.example.com/t/${tenant}${epoch === 0 ? '' : `/${epoch}`}`,
    size,
    root: ROOT,
  },
});

async function begin(storage: Storage, epochRequest: EpochRequest) {
  const result: EpochResult = await storage.log.beginEpoch(epochRequest, now());
  assert.equal(result.status, 'Begun');
  return result;
}

/** Checks chain, indexes and leaves from one row on, as a separate log. */
function requireLog(rows: readonly LogRow[], genesis: Uint8Array): void {
  let previous = genesis;
  for (const [i, { entry, leaf }] of rows.entries()) {
    const { index, previous: named } = decodeEntry(entry);
    assert.equal(index, i);
    assert.deepEqual(named, previous, `entry ${i} names the leaf before it`);
    assert.deepEqual(leaf, leafHash(entry));
    previous = leaf;
  }
}

const payloadOf = (row: LogRow) =>
  (parseJson(Buffer.from(row.texts[1]).toString()) as { payload: unknown }).payload;
const rootOf = (rows: readonly LogRow[]) =>
  CompactRange.of(
    0,
    rows.map(({ leaf }) => leaf),
  ).root();
const genesisOf = ({ anchored }: EpochRequest, origin: string) =>
  epochGenesisHash(origin, formatCheckpoint(anchored));

/** Three entries under a checkpoint. */
async function signedLog(place: TestInstallation): Promise<Storage> {
  const storage = await openWith(place, 'acme', 'other');
  await fill(storage, 'acme', 3);
  await fill(storage, 'other', 2);
  await publish(storage, await readAll(storage));
  return storage;
}

export const epochClaims: Claims = {
  async 'a log that is behind its anchor continues under a new name, and begins with a notice'(place) {
    const epochRequest = anchoredAt(5);
    {
      await using storage = await signedLog(place);
      const begun = await begin(storage, epochRequest);
      assert.deepEqual([begun.origin, begun.restoredSize, begun.notice.index], [`${ORIGIN}/1`, 3, 3]);
      const [placed] = placedIn(await append(storage, request('acme', [draftOf()])));
      assert.equal(placed!.index, 4, 'the sequence goes on');
    }
    await using storage = await place.open();
    await fill(storage, 'acme', 2);
    const rows = await place.rows('acme');
    assert.deepEqual(
      rows.map(({ index }) => index),
      [0, 1, 2, 3, 4, 5, 6],
    );
    requireLog(rows.slice(0, 3), genesisHash(ORIGIN));
    requireLog(rows.slice(3), genesisOf(epochRequest, `${ORIGIN}/1`));
    assert.equal(decodeEntry(rows[3]!.entry).kind, KINDS.newEpoch);
    assert.deepEqual(payloadOf(rows[3]!), {
      previousOrigin: ORIGIN,
      anchoredSize: 5,
      anchoredRoot: toBase64(ROOT),
      restoredSize: 3,
    });
    requireLog(await place.rows('other'), genesisHash('audit.example.com/t/other'));
  },

  async 'the new log is read back, published and proven by itself, and the old one stays as it was signed'(
    place,
  ) {
    {
      await using storage = await signedLog(place);
      await begin(storage, anchoredAt(5));
      await fill(storage, 'acme', 300);
    }
    await using storage = await place.open();
    const standings = await storage.tree.standings();
    assert.deepEqual(
      standings.map(({ tenant, epoch, firstIndex, entries, checkpoint }) => [
        tenant,
        epoch,
        firstIndex,
        entries,
        checkpoint?.size,
      ]),
      [
        ['acme', 1, 3, 301, undefined],
        ['other', 0, 0, 2, 2],
      ],
    );
    const growth = await readAll(storage);
    assert.deepEqual(
      growth.grown.map(({ tenant, epoch, heads }) => [
        tenant,
        epoch,
        heads.at(-1)!.origin,
        heads.at(-1)!.size,
      ]),
      [['acme', 1, `${ORIGIN}/1`, 301]],
    );
    assert.deepEqual(growth.faults, []);
    await publish(storage, growth);
    const rows = await place.rows('acme');
    const [old, current] = await Promise.all([
      storage.tree.forTenant('acme').tree(2),
      storage.tree.forTenant('acme').tree(),
    ]);
    assert.deepEqual([old!.origin, old!.epoch, old!.firstIndex], [ORIGIN, 0, 0]);
    assert.deepEqual([current!.origin, current!.epoch, current!.firstIndex], [`${ORIGIN}/1`, 1, 3]);
    for (const [tree, own] of [
      [old!, rows.slice(0, 3)],
      [current!, rows.slice(3)],
    ] as const) {
      const { size } = (await tree.latest())!;
      assert.equal(size, own.length);
      assert.deepEqual(await tree.root(size), rootOf(own));
      const proof = await tree.inclusion(size - 1, size);
      verifyInclusion({ leaf: own.at(-1)!.leaf, index: size - 1, size, proof, root: rootOf(own) });
    }
    assert.equal((await current!.tile({ level: 0, index: 0, width: 256 }))?.length, 256 * 32);
    assert.equal((await old!.tile({ level: 0, index: 0, width: 3 }))?.length, 3 * 32);
  },

  async 'it begins a stream of its own; the one before ends without a seal, and seals count in their log'(
    place,
  ) {
    const epochRequest = anchoredAt(5);
    {
      await using storage = await signedLog(place);
      await begin(storage, epochRequest);
    }
    await using storage = await place.open();
    await fill(storage, 'acme', 1);
    const log = storage.log.forTenant('acme');
    const [open] = await log.streams({ before: undefined }, 1);
    const sealed = await storage.log.seal({ tenant: 'acme', streamId: open!.streamId }, now());
    assert.equal(sealed.status, 'Sealed');
    await fill(storage, 'acme', 1);
    const streams = await log.streams({ after: undefined }, 10);
    const rows = await place.rows('acme');
    assert.deepEqual(
      streams.map(({ firstIndex, endIndex }) => [firstIndex, endIndex]),
      [
        [0, 3],
        [3, 6],
        [6, 7],
      ],
    );
    assert.deepEqual(streams[1]!.genesis, genesisOf(epochRequest, `${ORIGIN}/1`));
    assert.deepEqual(streams[2]!.genesis, rows[5]!.leaf);
    assert.deepEqual(streams[0]!.head, rows[2]!.leaf);
    assert.equal(streams[1]!.previousStreamId, streams[0]!.streamId);
    const { firstIndex, lastIndex } = payloadOf(rows[5]!) as { firstIndex: number; lastIndex: number };
    assert.deepEqual([firstIndex, lastIndex], [0, 2]);
    requireLog(rows.slice(3), genesisOf(epochRequest, `${ORIGIN}/1`));
  },

  async 'if the last entry before is a seal, its open stream is used'(place) {
    await using storage = await signedLog(place);
    const log = storage.log.forTenant('acme');
    const [open] = await log.streams({ before: undefined }, 1);
    await storage.log.seal({ tenant: 'acme', streamId: open!.streamId }, now());
    const epochRequest = anchoredAt(9);
    await begin(storage, epochRequest);
    await fill(storage, 'acme', 1);
    const streams = await log.streams({ after: undefined }, 10);
    assert.deepEqual(
      streams.map(({ firstIndex, endIndex }) => [firstIndex, endIndex]),
      [
        [0, 4],
        [4, 6],
      ],
    );
    assert.deepEqual(streams[1]!.genesis, genesisOf(epochRequest, `${ORIGIN}/1`));
  },

  async 'it is not begun if the store has the anchored head, nor for a log of another tenant'(place) {
    await using storage = await signedLog(place);
    const rows = await place.rows('acme');
    const has = { origin: ORIGIN, size: 2, root: rootOf(rows.slice(0, 2)) };
    const status = async (epochRequest: EpochRequest) =>
      (await storage.log.beginEpoch(epochRequest, now())).status;
    assert.equal(await status({ tenant: 'acme', anchored: has }), 'NotNeeded');
    assert.equal(
      await status({ tenant: 'acme', anchored: { ...has, size: 3, root: rootOf(rows) } }),
      'NotNeeded',
    );
    assert.equal(await status({ ...anchoredAt(5, 0, 'other'), tenant: 'acme' }), 'Unknown');
    assert.equal(await status(anchoredAt(5, 0, 'nobody')), 'Unknown');
    for (const origin of [`${ORIGIN}/0`, `${ORIGIN}/01`, `${ORIGIN}/1/2`, `${ORIGIN}x`, 'x/t/acme', '']) {
      assert.equal(await status({ tenant: 'acme', anchored: { ...has, origin } }), 'Unknown', origin);
    }
    assert.equal((await place.rows('acme')).length, 3);
    await begin(storage, anchoredAt(5));
    assert.equal(await status(anchoredAt(5)), 'NotNeeded', 'it has gone on already');
    assert.equal((await place.rows('acme')).length, 4);
  },

  async 'another history is never continued, whether it is longer or shorter than the anchored one'(place) {
    await using storage = await signedLog(place);
    await fill(storage, 'acme', 4);
    const rows = await place.rows('acme');
    const result = async (epochRequest: EpochRequest) => storage.log.beginEpoch(epochRequest, now());
    const headAt = (size: number, root = rootOf(rows.slice(0, size))) => ({ origin: ORIGIN, size, root });
    for (const size of [1, 5, 7]) {
      const parted = {
        status: 'OtherHistory',
        origin: ORIGIN,
        size,
        signedRoot: ROOT,
        root: headAt(size).root,
      };
      assert.deepEqual(await result(anchoredAt(size)), parted);
      const history = [headAt(1), headAt(3), headAt(size, ROOT), headAt(8)];
      assert.deepEqual(await result({ ...anchoredAt(9), history }), parted, 'less than was anchored last');
      assert.deepEqual(await result({ ...anchoredAt(9, 2), history }), parted, 'a log that came before that');
    }
    assert.equal((await place.rows('acme')).length, 7);
    const others = [{ ...headAt(2, ROOT), origin: 'audit.example.com/t/other' }, headAt(8)];
    const history = [headAt(2), headAt(3), headAt(6), headAt(7), ...others];
    assert.equal((await begin(storage, { ...anchoredAt(9), history })).restoredSize, 7);
    // Also for a log that has ended.
    const parted = await result({ ...anchoredAt(9, 1), history: [...history, headAt(5, ROOT)] });
    assert.deepEqual([parted.status, 'size' in parted && parted.size], ['OtherHistory', 5]);
    assert.equal((await begin(storage, { ...anchoredAt(9, 1), history })).restoredSize, 1);
  },

  async 'it can happen again and again, also before anything of the last log came back'(place) {
    let epochRequest = anchoredAt(5);
    {
      await using storage = await signedLog(place);
      await begin(storage, epochRequest);
    }
    {
      await using storage = await place.open();
      await fill(storage, 'acme', 1);
      epochRequest = anchoredAt(40, 1);
      const second = await begin(storage, epochRequest);
      assert.deepEqual([second.origin, second.restoredSize], [`${ORIGIN}/2`, 2]);
    }
    // The restored copy is older than the anchored epoch: its number is not reused.
    await using storage = await place.open();
    const fourth = await begin(storage, anchoredAt(8, 6));
    assert.deepEqual([fourth.origin, fourth.restoredSize], [`${ORIGIN}/7`, 0]);
    await fill(storage, 'acme', 2);
    const rows = await place.rows('acme');
    requireLog(rows.slice(3, 5), genesisOf(anchoredAt(5), `${ORIGIN}/1`));
    requireLog(rows.slice(5, 6), genesisOf(epochRequest, `${ORIGIN}/2`));
    requireLog(rows.slice(6), genesisOf(anchoredAt(8, 6), `${ORIGIN}/7`));
    const origins = await Promise.all(
      rows.map(async ({ index }) =>
        (await storage.tree.forTenant('acme').tree(index))!.origin.slice(ORIGIN.length),
      ),
    );
    assert.deepEqual(origins, ['', '', '', '/1', '/1', '/2', '/7', '/7', '/7']);
  },

  async 'a log that must not go on is not sealed when its day is over, and the others are'(place) {
    await using storage = await signedLog(place);
    while (await storage.log.sealAged(now(NOW_MS + 10 * 86_400_000), ['acme']));
    assert.deepEqual([(await place.rows('acme')).length, (await place.rows('other')).length], [3, 3]);
  },

  async 'a tenant that the copy does not know begins with it'(place) {
    {
      await using storage = await openWith(place, 'acme');
      const begun = await begin(storage, anchoredAt(5));
      assert.deepEqual([begun.restoredSize, begun.notice.index], [0, 0]);
      await fill(storage, 'acme', 1);
    }
    await using storage = await place.open();
    await fill(storage, 'acme', 1);
    requireLog(await place.rows('acme'), genesisOf(anchoredAt(5), `${ORIGIN}/1`));
    const [stream] = await storage.log.forTenant('acme').streams({ before: undefined }, 2);
    assert.deepEqual(stream!.genesis, genesisOf(anchoredAt(5), `${ORIGIN}/1`));
    assert.equal((await storage.tree.forTenant('acme').tree(0))!.epoch, 1);
  },

  async 'an event that is sent again is recognised at its index in the sequence, in any log'(place) {
    const [before, behind] = [1, 2].map((n) => draftOf({}, { sentFingerprint: fingerprint(n) }));
    await using storage = await openWith(place, 'acme');
    await append(storage, request('acme', [before!]));
    await begin(storage, anchoredAt(5));
    await append(storage, request('acme', [behind!]), now(NOW_MS + 1));
    const again = placedIn(await append(storage, request('acme', [before!, behind!]), now(NOW_MS + 2)));
    assert.deepEqual(
      again.map(({ status, index }) => [status, index]),
      [
        ['Duplicate', 0],
        ['Duplicate', 2],
      ],
    );
    const found = await storage.log.forTenant('acme').event(behind!.eventId, CLASSIFICATIONS);
    assert.deepEqual([found!.index, decodeEntry(found!.entry).index], [2, 1]);
  },
};
