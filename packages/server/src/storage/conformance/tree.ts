// Claims about the tree: it reads back the appended entries, serves the published ones, and both agree with a tree made
// from the stored leaves alone.

import assert from 'node:assert/strict';
import type { TenantId } from '@tallystick/contract';
import {
  CompactRange,
  decodeEntryBundle,
  decodeTile,
  formatCheckpoint,
  KINDS,
  leafHash,
  nodeHash,
  noteSigner,
  parseVerifierKey,
  signatureLine,
  signCheckpoint,
  type Tile,
  verifyConsistency,
  verifyInclusion,
} from '@tallystick/evidence';
import type { GrownLog, Growth, LogTree, TreeHead } from '../../streams/tree.ts';
import type { Storage } from '../storage.ts';
import {
  append,
  type Claims,
  draftOf,
  type LogRow,
  NOW_MS,
  openWith,
  type TestInstallation,
  request,
} from './claims.ts';

/** The signature is not verified here. */
export function noteOf(head: TreeHead): string {
  return `${formatCheckpoint(head)}\n${lineOf(head.origin, head.size)}`;
}

function lineOf(name: string, fill = 1): string {
  return signatureLine({ name, keyId: '00000000', signature: new Uint8Array(64).fill(fill) });
}

export async function publish(
  storage: Storage,
  { grown }: Growth,
  nowMs = NOW_MS,
  sign: (head: TreeHead) => string | Promise<string> = noteOf,
): Promise<void> {
  const logs = grown.map(async ({ tenant, epoch, heads, tileHashes }) => ({
    tenant,
    epoch,
    checkpoints: await Promise.all(heads.map(async (head) => ({ size: head.size, note: await sign(head) }))),
    tileHashes,
  }));
  await storage.tree.publish(await Promise.all(logs), nowMs);
}

/** The same for who verifies it; returns the public key. */
export async function publishSigned(storage: Storage): Promise<Uint8Array> {
  const seed = new Uint8Array(32).fill(7);
  await publish(storage, await readAll(storage), NOW_MS, async (head) =>
    signCheckpoint(head, [await noteSigner(head.origin, seed)]),
  );
  return parseVerifierKey((await noteSigner('any', seed)).verifierKey).publicKey;
}

/** Reads until there is no more. */
export async function readAll(storage: Storage): Promise<Growth> {
  for (;;) {
    const growth = await storage.tree.readGrowth();
    if (!growth.hasMore) return growth;
  }
}

export async function fill(storage: Storage, tenant: TenantId, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 500) {
    const drafts = Array.from({ length: Math.min(left, 500) }, () => draftOf());
    await append(storage, request(tenant, drafts));
  }
}

async function treeOf(storage: Storage, tenant: TenantId): Promise<LogTree> {
  const tree = await storage.tree.forTenant(tenant).tree();
  assert.ok(tree !== undefined, `${tenant} has a tree`);
  return tree;
}

const leavesOf = (rows: readonly LogRow[]) => rows.map(({ entry }) => leafHash(entry));
const rootOf = async (place: TestInstallation, tenant: TenantId, size: number) =>
  CompactRange.of(0, leavesOf(await place.rows(tenant)).slice(0, size)).root();
const sizesIn = ({ heads }: GrownLog) => heads.map(({ size }) => size);
const byTenant = ([one]: readonly unknown[], [other]: readonly unknown[]) =>
  String(one) < String(other) ? -1 : 1;
const sizes = ({ grown }: Growth) => grown.map(({ tenant, heads }) => [tenant, heads.at(-1)!.size]);

export const treeClaims: Claims = {
  async 'a log that has not grown is not given, and a tenant without a log has no checkpoint'(place) {
    await using storage = await openWith(place, 'acme');
    assert.deepEqual(await storage.tree.standings(), []);
    assert.deepEqual(await readAll(storage), { grown: [], faults: [], hasMore: false });
    assert.equal(await storage.tree.forTenant('nobody').tree(), undefined);
    assert.equal(await (await treeOf(storage, 'acme')).latest(), undefined);
  },

  async 'appended entries are read back with the root of their leaves, until they are published'(place) {
    await using storage = await openWith(place, 'acme', 'other');
    await fill(storage, 'acme', 5);
    await fill(storage, 'other', 2);
    const first = await readAll(storage);
    assert.deepEqual(sizes(first).toSorted(byTenant), [
      ['acme', 5],
      ['other', 2],
    ]);
    for (const { tenant, heads } of first.grown) {
      assert.deepEqual(heads.at(-1)!.root, await rootOf(place, tenant, heads.at(-1)!.size));
      assert.equal(heads.at(-1)!.origin, `${storage.logOrigin}/t/${tenant}`);
    }
    await fill(storage, 'acme', 1);
    const second = await readAll(storage);
    assert.deepEqual(sizes(second).toSorted(byTenant), [
      ['acme', 6],
      ['other', 2],
    ]);
    await publish(storage, second);
    assert.deepEqual((await readAll(storage)).grown, []);
    const { note, size, publishedAtMs } = (await (await treeOf(storage, 'acme')).latest())!;
    assert.deepEqual([size, publishedAtMs], [6, NOW_MS]);
    assert.equal(note, noteOf(second.grown.find(({ tenant }) => tenant === 'acme')!.heads.at(-1)!));
  },

  async 'unpublished entries of an earlier run are found when the store is reopened'(place) {
    {
      await using storage = await openWith(place, 'acme', 'other', 'done');
      for (const tenant of ['acme', 'other', 'done']) await fill(storage, tenant, 3);
      const growth = await readAll(storage);
      await publish(storage, { ...growth, grown: growth.grown.filter(({ tenant }) => tenant !== 'other') });
      await fill(storage, 'acme', 300);
    }
    await using storage = await place.open();
    const standings = await storage.tree.standings();
    assert.deepEqual(
      standings
        .map(({ tenant, entries, checkpoint }) => [tenant, entries, checkpoint?.size])
        .toSorted(byTenant),
      [
        ['acme', 303, 3],
        ['done', 3, 3],
        ['other', 3, undefined],
      ],
    );
    assert.deepEqual(
      standings.find(({ tenant }) => tenant === 'acme')!.checkpoint!.root,
      await rootOf(place, 'acme', 3),
    );
    await fill(storage, 'acme', 2);
    const growth = await readAll(storage);
    assert.deepEqual(sizes(growth).toSorted(byTenant), [
      ['acme', 305],
      ['other', 3],
    ]);
    for (const { tenant, heads } of growth.grown) {
      assert.deepEqual(heads.at(-1)!.root, await rootOf(place, tenant, heads.at(-1)!.size));
    }
  },

  async 'a head is given at each size that was asked for, and at the end of each stream'(place) {
    await using storage = await openWith(place, 'acme');
    await storage.tree.stopAt('acme', 4);
    await fill(storage, 'acme', 6);
    const stream = (await storage.log.forTenant('acme').streams({ before: undefined }, 1))[0]!;
    const time = { nowMs: NOW_MS, steadyNowMs: NOW_MS };
    const sealed = await storage.log.seal({ tenant: 'acme', streamId: stream.streamId }, time);
    assert.equal(sealed.status, 'Sealed');
    await fill(storage, 'acme', 2);
    const { grown } = await readAll(storage);
    assert.deepEqual(sizesIn(grown[0]!), [4, 7, 9]);
    for (const { size, root } of grown[0]!.heads) assert.deepEqual(root, await rootOf(place, 'acme', size));
    assert.equal((await place.rows('acme'))[6]!.entry[16], KINDS.streamSeal);
    await publish(storage, { grown, faults: [], hasMore: false });
    const tree = await treeOf(storage, 'acme');
    for (const size of [4, 7, 9]) assert.equal((await tree.checkpoint(size))?.size, size);
    assert.equal(await tree.checkpoint(8), undefined);
  },

  async 'a checkpoint is never taken back: what is not larger than the newest one is left out'(place) {
    await using storage = await openWith(place, 'acme');
    await fill(storage, 'acme', 3);
    const [early] = (await readAll(storage)).grown;
    await fill(storage, 'acme', 1);
    const late = await readAll(storage);
    await publish(storage, late);
    await publish(storage, { ...late, grown: [early!] }, NOW_MS + 1);
    const tree = await treeOf(storage, 'acme');
    assert.equal((await tree.latest())?.size, 4);
    assert.equal(await tree.checkpoint(3), undefined);
    const forged = { ...late.grown[0]!.heads.at(-1)!, root: new Uint8Array(32) };
    await publish(storage, { ...late, grown: [{ ...late.grown[0]!, heads: [forged] }] });
    assert.equal((await tree.latest())?.note, noteOf(late.grown[0]!.heads.at(-1)!));
  },

  async 'a stored checkpoint gains signatures, and is still the newest one when the store is opened again'(
    place,
  ) {
    let cosigned: string;
    {
      await using storage = await openWith(place, 'acme', 'other');
      for (const tenant of ['acme', 'other']) await fill(storage, tenant, 3);
      await publish(storage, await readAll(storage));
      const tree = await treeOf(storage, 'acme');
      const other = await (await treeOf(storage, 'other')).latest();
      const { note } = (await tree.latest())!;
      const at = { tenant: 'acme', epoch: tree.epoch, size: 3 };
      const once = note + lineOf('w1');
      cosigned = once + lineOf('w2');
      assert.deepEqual(await storage.tree.cosign([{ ...at, note: once }]), [true]);
      await fill(storage, 'acme', 2);
      assert.deepEqual(await storage.tree.cosign([{ ...at, note: cosigned }]), [true], 'beside what is new');
      assert.deepEqual(await storage.tree.cosign([]), []);
      assert.deepEqual(await tree.latest(), { note: cosigned, size: 3, publishedAtMs: NOW_MS });
      assert.deepEqual(await (await treeOf(storage, 'other')).latest(), other);
      await publish(storage, await readAll(storage), NOW_MS + 1);
      assert.equal((await tree.latest())?.size, 5);
    }
    await using storage = await place.open();
    assert.equal((await (await treeOf(storage, 'acme')).checkpoint(3))?.note, cosigned);
  },

  async 'no other text takes the place of a stored checkpoint, and no signature is lost'(place) {
    await using storage = await openWith(place, 'acme');
    await fill(storage, 'acme', 3);
    const growth = await readAll(storage);
    await publish(storage, growth);
    const tree = await treeOf(storage, 'acme');
    const head = growth.grown[0]!.heads.at(-1)!;
    const { origin, epoch } = tree;
    const note = noteOf(head) + lineOf('w1');
    const at = { tenant: 'acme', epoch, size: 3 };
    const refused = [
      { ...at, note: noteOf({ ...head, root: new Uint8Array(32) }) + lineOf('w1') },
      { ...at, note: noteOf({ ...head, size: 4 }) + lineOf('w1') },
      { ...at, note: `${formatCheckpoint(head)}\n${lineOf('w1')}` },
      { ...at, note: note.replace(lineOf(origin, 3), lineOf(origin, 9)) },
      { ...at, note: `more\n\n${note}` },
      { ...at, note: '' },
      { ...at, size: 2, note },
      { ...at, epoch: epoch + 1, note },
      { ...at, tenant: 'nobody', note },
    ];
    assert.deepEqual(
      await storage.tree.cosign(refused),
      refused.map(() => false),
    );
    assert.equal((await tree.latest())?.note, noteOf(head));
    const mixed = await storage.tree.cosign([refused[0]!, { ...at, note }, { ...at, note: noteOf(head) }]);
    assert.deepEqual(mixed, [false, true, false]);
    assert.equal((await tree.latest())?.note, note);
  },

  async 'proofs from what is stored verify, at the edges of tiles and in between'(place) {
    await using storage = await openWith(place, 'acme');
    const published = [1, 255, 256, 257, 700];
    for (const [i, size] of published.entries()) {
      await fill(storage, 'acme', size - (published[i - 1] ?? 0));
      await publish(storage, await readAll(storage));
    }
    const tree = await treeOf(storage, 'acme');
    const leaves = leavesOf(await place.rows('acme'));
    const roots = new Map<number, Uint8Array>();
    for (const size of published) roots.set(size, await rootOf(place, 'acme', size));
    for (const size of published) {
      assert.deepEqual(await tree.root(size), roots.get(size), `root at ${size}`);
      for (const index of [0, 1, 254, 255, 256, 511, 512, 699].filter((each) => each < size)) {
        const proof = await tree.inclusion(index, size);
        verifyInclusion({ leaf: leaves[index]!, index, size, proof, root: roots.get(size)! });
      }
      for (const from of published.filter((each) => each <= size)) {
        const proof = await tree.consistency(from, size);
        verifyConsistency({ from, fromRoot: roots.get(from)!, to: size, toRoot: roots.get(size)!, proof });
      }
    }
  },

  async 'tiles and bundles are those of published sizes, and no others'(place) {
    await using storage = await openWith(place, 'acme', 'other');
    for (const count of [3, 300]) {
      await fill(storage, 'acme', count);
      await publish(storage, await readAll(storage));
    }
    await fill(storage, 'acme', 5);
    await fill(storage, 'other', 9);
    const tree = await treeOf(storage, 'acme');
    const leaves = leavesOf(await place.rows('acme'));
    const tileOf = async (tile: Tile) => {
      const bytes = await tree.tile(tile);
      return bytes === undefined ? undefined : decodeTile(bytes, tile.width);
    };
    assert.deepEqual(await tileOf({ level: 0, index: 0, width: 256 }), leaves.slice(0, 256));
    assert.deepEqual(await tileOf({ level: 0, index: 1, width: 47 }), leaves.slice(256, 303));
    assert.deepEqual(await tileOf({ level: 0, index: 0, width: 3 }), leaves.slice(0, 3));
    assert.deepEqual(await tileOf({ level: 1, index: 0, width: 1 }), [perfectRoot(leaves.slice(0, 256))]);
    const absent: Tile[] = [
      { level: 0, index: 0, width: 4 },
      { level: 0, index: 1, width: 46 },
      { level: 0, index: 1, width: 48 },
      { level: 0, index: 1, width: 256 },
      { level: 0, index: 2, width: 1 },
      { level: 1, index: 0, width: 2 },
      { level: 1, index: 1, width: 1 },
      { level: 2, index: 0, width: 1 },
      { level: 'entries', index: 1, width: 48 },
      { level: 'entries', index: 0, width: 4 },
    ];
    for (const tile of absent) assert.equal(await tree.tile(tile), undefined, JSON.stringify(tile));
    const entries = await tree.tile({ level: 'entries', index: 1, width: 47 });
    const stored = (await place.rows('acme')).slice(256, 303);
    assert.deepEqual(
      decodeEntryBundle(entries!, 47),
      stored.map(({ entry }) => Uint8Array.from(entry)),
    );
    assert.equal(await (await treeOf(storage, 'other')).tile({ level: 0, index: 0, width: 9 }), undefined);
  },
};

function perfectRoot(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 1) return hashes[0]!;
  const half = hashes.length / 2;
  return nodeHash(perfectRoot(hashes.slice(0, half)), perfectRoot(hashes.slice(half)));
}
