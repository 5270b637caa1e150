// Claims about proofs that one call makes, and about the search for cosigned checkpoints.

import assert from 'node:assert/strict';
import { CLASSIFICATIONS, type EventId, type TenantId } from '@tallystick/contract';
import {
  decodeEntry,
  leafHash,
  signatureLine,
  verifyConsistency,
  verifyInclusion,
} from '@tallystick/evidence';
import type { LogSize, ProvenEvent } from '../../streams/tree.ts';
import type { Storage } from '../storage.ts';
import { append, type Claims, draftOf, openWith, type TestInstallation, request, textsOf } from './claims.ts';
import { fill, publish, readAll } from './tree.ts';

const idAt = async (place: TestInstallation, tenant: TenantId, index: number): Promise<EventId> =>
  decodeEntry((await place.rows(tenant))[index]!.entry).eventId;

async function proven(storage: Storage, eventId: EventId, preferred: readonly LogSize[] = []) {
  const found = await storage.tree
    .forTenant('acme')
    .proveEvent({ eventId, visible: CLASSIFICATIONS, preferred });
  assert.ok(found !== undefined && !('fault' in found));
  return found;
}

function verify({ evidence, under, head }: ProvenEvent, root: Uint8Array): void {
  const index = evidence.index - head.firstIndex;
  const { size } = under!.checkpoint;
  verifyInclusion({ leaf: leafHash(evidence.entry), index, size, proof: under!.hashes, root });
}

/** A log with a checkpoint at each of these sizes. */
async function publishAt(storage: Storage, sizes: readonly number[]): Promise<void> {
  for (const [i, size] of sizes.entries()) {
    await fill(storage, 'acme', size - (sizes[i - 1] ?? 0));
    await publish(storage, await readAll(storage));
  }
}

async function cosign(storage: Storage, size: number, name: string): Promise<void> {
  const tree = (await storage.tree.forTenant('acme').tree())!;
  const { note } = (await tree.checkpoint(size))!;
  const line = signatureLine({ name, keyId: '00000001', signature: new Uint8Array(72) });
  assert.deepEqual(
    await storage.tree.cosign([{ tenant: 'acme', epoch: tree.epoch, size, note: note + line }]),
    [true],
  );
}

export const treeProofClaims: Claims = {
  async 'an event is proven under the newest checkpoint, or under the one that is preferred if it covers it'(
    place,
  ) {
    await using storage = await openWith(place, 'acme');
    const sizes = [3, 256, 300, 700];
    await publishAt(storage, sizes);
    const tree = (await storage.tree.forTenant('acme').tree())!;
    const roots = new Map<number, Uint8Array>();
    for (const size of sizes) roots.set(size, await tree.root(size));
    for (const index of [0, 2, 3, 255, 256, 299, 300, 699]) {
      const eventId = await idAt(place, 'acme', index);
      for (const preferred of [undefined, ...sizes, 100]) {
        const logSizes = preferred === undefined ? [] : [{ epoch: 0, size: preferred }];
        const found = await proven(storage, eventId, [{ epoch: 1, size: 700 }, ...logSizes]);
        const isTaken = preferred !== undefined && preferred > index && sizes.includes(preferred);
        assert.equal(found.under?.checkpoint.size, isTaken ? preferred : 700, `${index} under ${preferred}`);
        assert.equal(found.evidence.index, index);
        assert.deepEqual([found.head.origin, found.head.latest?.size], [tree.origin, 700]);
        verify(found, roots.get(found.under.checkpoint.size)!);
      }
    }
  },

  async 'an event that no checkpoint covers has no proof yet, and one that may not be seen none at all'(
    place,
  ) {
    await using storage = await openWith(place, 'acme', 'other');
    const secret = draftOf({ payload: { a: 1 } }, { classification: 'Secret' });
    await append(storage, request('acme', [secret]));
    const proofRequest = { eventId: secret.eventId, preferred: [] };
    const before = await proven(storage, secret.eventId);
    assert.deepEqual([before.under, before.head.latest], [undefined, undefined]);
    await publish(storage, await readAll(storage));
    const { evidence, under } = await proven(storage, secret.eventId);
    assert.equal(under?.checkpoint.size, 1);
    assert.deepEqual(
      evidence.content && 'texts' in evidence.content && evidence.content.texts,
      textsOf(secret),
    );
    const isSeen = async (tenant: TenantId, visible: readonly (typeof CLASSIFICATIONS)[number][]) =>
      (await storage.tree.forTenant(tenant).proveEvent({ ...proofRequest, visible })) !== undefined;
    assert.deepEqual(
      [await isSeen('acme', ['Public', 'Internal']), await isSeen('other', CLASSIFICATIONS)],
      [false, false],
    );
    assert.deepEqual(
      [await isSeen('nobody', CLASSIFICATIONS), await isSeen('acme', ['Secret'])],
      [false, true],
    );
  },

  async 'an event that is not what was hashed has no proof, and one whose content is removed has its roots'(
    place,
  ) {
    await using storage = await openWith(place, 'acme');
    await publishAt(storage, [5]);
    const [altered, removed] = [await idAt(place, 'acme', 2), await idAt(place, 'acme', 3)];
    await place.alterContent('acme', 2, '{"payload":{}}');
    await place.removeContent('acme', 3);
    const proofRequest = { eventId: altered, visible: CLASSIFICATIONS, preferred: [] };
    const found = await storage.tree.forTenant('acme').proveEvent(proofRequest);
    assert.ok(found !== undefined && 'fault' in found);
    assert.deepEqual(Object.keys(found).toSorted(), ['fault', 'index']);
    assert.equal(found.index, 2);
    const { evidence, under } = await proven(storage, removed);
    assert.deepEqual([evidence.content, under?.checkpoint.size], [undefined, 5]);
  },

  async 'the growth of a log is proven for all signed sizes, and for no others'(place) {
    await using storage = await openWith(place, 'acme');
    assert.equal((await storage.tree.forTenant('acme').proveGrowth(1))?.proof, undefined);
    assert.equal(await storage.tree.forTenant('nobody').proveGrowth(1), undefined);
    await publishAt(storage, [256, 600]);
    await fill(storage, 'acme', 5);
    const tree = (await storage.tree.forTenant('acme').tree())!;
    for (const [from, to] of [
      [1, undefined],
      [255, 256],
      [256, 256],
      [256, 600],
      [257, 511],
      [512, 599],
      [600, 600],
    ] as const) {
      const { head, proof } = (await storage.tree.forTenant('acme').proveGrowth(from, to))!;
      assert.equal(head.latest?.size, 600);
      const size = to ?? 600;
      const { fromRoot, toRoot, hashes, checkpoint } = proof!;
      assert.deepEqual([fromRoot, toRoot], [await tree.root(from), await tree.root(size)]);
      verifyConsistency({ from, fromRoot, to: size, toRoot, proof: hashes });
      assert.deepEqual(checkpoint, await tree.checkpoint(size));
    }
    for (const [from, to] of [
      [0, 256],
      [257, 256],
      [1, 601],
      [601, undefined],
    ] as const) {
      assert.equal(
        (await storage.tree.forTenant('acme').proveGrowth(from, to))?.proof,
        undefined,
        `${from} to ${to}`,
      );
    }
  },

  async 'checkpoints with foreign signatures are found, newest first and in portions'(place) {
    await using storage = await openWith(place, 'acme');
    const sizes = [1, 2, 3, 4, 5, 6];
    await publishAt(storage, sizes);
    await cosign(storage, 2, 'witness.example/w1');
    await cosign(storage, 5, 'witness.example/w2');
    const look = async (below: number, limit: number, tenant = 'acme', epoch = 0) => {
      const { cosigned, lookedTo } = await storage.tree
        .forTenant(tenant)
        .cosigned({ epoch, size: below }, limit);
      const tree = (await storage.tree.forTenant('acme').tree())!;
      for (const each of cosigned) assert.deepEqual(each, await tree.checkpoint(each.size));
      return [cosigned.map(({ size }) => size), lookedTo];
    };
    assert.deepEqual(await look(7, 100), [[5, 2], 1]);
    assert.deepEqual(await look(6, 2), [[5], 4]);
    assert.deepEqual(await look(4, 1), [[], 3]);
    assert.deepEqual(await look(3, 5), [[2], 1]);
    assert.deepEqual(await look(1, 5), [[], undefined]);
    assert.deepEqual(
      [await look(7, 5, 'nobody'), await look(7, 5, 'acme', 1)],
      [
        [[], undefined],
        [[], undefined],
      ],
    );
  },

  async 'the head of a log is that of the log which holds an index, and says how far it is signed'(place) {
    await using storage = await openWith(place, 'acme');
    const tree = (await storage.tree.forTenant('acme').tree())!;
    const log = { origin: tree.origin, epoch: 0, firstIndex: 0 };
    assert.deepEqual(await storage.tree.forTenant('acme').head(), { ...log, latest: undefined });
    assert.equal(await storage.tree.forTenant('nobody').head(), undefined);
    await publishAt(storage, [2, 5]);
    assert.deepEqual(await storage.tree.forTenant('acme').head(1), {
      ...log,
      latest: await tree.checkpoint(5),
    });
  },
};
