// Logs that several nodes sign on one database, and logs that were changed by hand.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Classification } from '@tallystick/contract';
import { parseCheckpoint, parseNote, signatureLine } from '@tallystick/evidence';
import {
  ENTRY_COLUMNS,
  fill,
  type Installation,
  type Installations,
  type Node,
  publish,
  publishedOf,
  rootAt,
  sizesOf,
  startInstallations,
} from '../../../testing/signing-nodes.ts';
import { draftOf, now, NOW_MS, request } from '../../conformance/claims.ts';

let installations: Installations;
let install: Installations['install'];
before(async () => {
  installations = await startInstallations();
  ({ install } = installations);
});
after(() => installations?.[Symbol.asyncDispose]());

async function storedSizes({ raw }: Installation, tenant: string): Promise<number[]> {
  const rows = await raw('SELECT size FROM checkpoints WHERE tenant_id = $1 ORDER BY size', [tenant]);
  return rows.map(({ size }) => Number(size));
}

describe('several nodes', { concurrency: 1 }, () => {
  it('sign the same logs: the later one is skipped, and continues from the stored state', async () => {
    const place = await install('acme');
    await using one = place.start();
    await using other = place.start();
    await fill(one, 'acme', 300);
    const early = await other.tree.readGrowth();
    await fill(one, 'acme', 100);
    assert.deepEqual(await publish(one), [['acme', 400]]);
    await other.tree.publish(publishedOf(early), NOW_MS);
    assert.deepEqual(await storedSizes(place, 'acme'), [400]);
    // It is returned as stored, though nothing is left to read: a caller may wait for it.
    assert.deepEqual(await publish(other), [['acme', 400]]);
    assert.deepEqual(sizesOf(await other.tree.readGrowth()), []);
    await fill(other, 'acme', 200);
    assert.deepEqual(await publish(other), [['acme', 600]]);
    assert.deepEqual(await publish(one), [['acme', 600]]);
    assert.deepEqual(await storedSizes(place, 'acme'), [400, 600]);
    const { note } = (await (await one.tree.forTenant('acme').tree())!.latest())!;
    assert.deepEqual(parseCheckpoint(parseNote(note).text).root, await rootAt(place, 'acme', 600));
  });

  it('never store a checkpoint after a larger one, in any order', async () => {
    const place = await install('acme', 'beta');
    await using one = place.start();
    await using other = place.start();
    for (let round = 0; round < 15; round++) {
      const turns = [one, other].map(async (node) => {
        await fill(node, round % 2 === 0 ? 'acme' : 'beta', 1 + (round % 3)).catch(() => {});
        await publish(node);
      });
      await Promise.all(turns);
    }
    for (const tenant of ['acme', 'beta']) {
      const rows = await place.raw(
        'SELECT size, xmin::text::bigint AS by FROM checkpoints WHERE tenant_id = $1 ORDER BY size',
        [tenant],
      );
      assert.ok(rows.length > 4, `${rows.length} checkpoints`);
      const order = rows.map(({ by }) => Number(by));
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
        'the larger ones came later',
      );
      for (const { size } of rows) {
        const { note } = (await (await one.tree.forTenant(tenant).tree())!.checkpoint(Number(size)))!;
        assert.deepEqual(
          parseCheckpoint(parseNote(note).text).root,
          await rootAt(place, tenant, Number(size)),
        );
      }
    }
  });

  it('report each log that another node has published, also a new one', async () => {
    const place = await install('acme');
    await using one = place.start();
    await using other = place.start();
    assert.deepEqual(await other.tree.standings(), []);
    await place.raw(`INSERT INTO heads (tenant_id) VALUES ('fresh')`);
    await fill(one, 'fresh', 3);
    assert.deepEqual(await publish(one), [['fresh', 3]]);
    assert.deepEqual(await publish(other), [['fresh', 3]]);
    assert.deepEqual(await publish(other), []);
  });

  it('return the head at a requested size, though another node has signed beyond it', async () => {
    const place = await install('acme', 'beta', 'gamma', 'delta');
    await using one = place.start();
    await using other = place.start();
    for (const tenant of ['acme', 'beta', 'gamma', 'delta']) await fill(one, tenant, 5);
    await other.tree.standings();
    for (const tenant of ['acme', 'beta']) await other.tree.stopAt(tenant, 3);
    // Anchored, and stored a moment later.
    for (const tenant of ['gamma', 'delta']) await other.tree.stopAt(tenant, 5);
    await publish(one);
    for (const tenant of ['beta', 'delta']) await fill(one, tenant, 2);
    const { grown, faults } = await other.tree.readGrowth();
    assert.deepEqual(faults, []);
    assert.deepEqual(sizesOf({ grown, faults, hasMore: false }), [
      ['acme', 3, 5],
      ['beta', 3, 7],
      ['delta', 5, 7],
      ['gamma', 5],
    ]);
    for (const { tenant, heads } of grown)
      for (const { size, root } of heads) assert.deepEqual(root, await rootAt(place, tenant, size));
    await other.tree.publish(publishedOf({ grown, faults, hasMore: false }), NOW_MS);
    assert.deepEqual(sizesOf(await other.tree.readGrowth()), []);
    assert.deepEqual(await storedSizes(place, 'acme'), [5]);
  });

  it('find late commits in the middle of later ones', async () => {
    const place = await install('acme', 'beta');
    await using one = place.start();
    await fill(one, 'acme', 5);
    await place.raw('CREATE TABLE late AS SELECT * FROM entries WHERE leaf_index >= 3');
    await place.raw('DELETE FROM entries WHERE leaf_index >= 3');
    await place.raw(`UPDATE heads SET next_index = 3 WHERE tenant_id = 'acme'`);
    await using other = place.start();
    assert.deepEqual(await publish(other), [['acme', 3]]);
    const client = await place.connect();
    try {
      await client.query(`BEGIN; INSERT INTO entries (${ENTRY_COLUMNS}) SELECT ${ENTRY_COLUMNS} FROM late`);
      await client.query(`UPDATE heads SET next_index = 5 WHERE tenant_id = 'acme'`);
      await fill(one, 'beta', 2);
      assert.deepEqual(await publish(other), [['beta', 2]]);
      await client.query('COMMIT');
    } finally {
      await client.end();
    }
    assert.deepEqual(await publish(other), [['acme', 5]]);
  });

  it('keep every signature that one of them has stored', async () => {
    const place = await install('acme');
    await using one = place.start();
    await using other = place.start();
    await fill(one, 'acme', 1);
    await publish(one);
    const { note, size } = (await (await one.tree.forTenant('acme').tree())!.latest())!;
    const line = (name: string) => signatureLine({ name, keyId: '00000001', signature: new Uint8Array(72) });
    const cosign = ({ tree }: Node, name: string) =>
      tree.cosign([{ tenant: 'acme', epoch: 0, size, note: note + line(name) }]);
    const [first, second] = await Promise.all([cosign(one, 'w1'), cosign(other, 'w2')]);
    assert.notEqual(first[0], second[0], 'one of them comes too late');
    const stored = (await (await one.tree.forTenant('acme').tree())!.latest())!.note;
    assert.equal(stored, note + line(first[0] === true ? 'w1' : 'w2'));
  });
});

describe('a log that was changed by hand', { concurrency: 1 }, () => {
  const changes = {
    'the last entry under a full tile is gone':
      'DELETE FROM entries WHERE tenant_id = $1 AND leaf_index = 255',
    'an entry in the middle is gone': 'DELETE FROM entries WHERE tenant_id = $1 AND leaf_index = 300',
    'the newest entry is gone': 'DELETE FROM entries WHERE tenant_id = $1 AND leaf_index = 355',
    'a hash of a tile is gone': 'DELETE FROM tile_hashes WHERE tenant_id = $1',
    'an entry has another length': `UPDATE entries SET entry = entry || '\\x00' WHERE tenant_id = $1 AND leaf_index = 300`,
    'an entry is another one': `UPDATE entries SET entry = set_byte(entry, 115, 255 - get_byte(entry, 115)) WHERE tenant_id = $1 AND leaf_index = 300`,
    'the note cannot be read': `UPDATE checkpoints SET note = 'x' WHERE tenant_id = $1`,
    'the size of the checkpoint is none': 'UPDATE checkpoints SET size = -5 WHERE tenant_id = $1',
    'the head points nowhere': 'UPDATE heads SET next_index = 9223372036854775807 WHERE tenant_id = $1',
  };
  for (const [what, sql] of Object.entries(changes)) {
    it(`is reported once, and the others are read: ${what}`, async () => {
      const place = await install('acme', 'other');
      {
        await using node = place.start();
        for (const tenant of ['acme', 'other']) await fill(node, tenant, 256);
        await publish(node);
        for (const tenant of ['acme', 'other']) await fill(node, tenant, 100);
      }
      await place.raw(sql, ['acme']);
      await using node = place.start();
      assert.equal((await node.tree.standings()).length, 2);
      const first = await node.tree.readGrowth();
      // If a head claims more entries than one read returns, the others get the next turn.
      const growth = first.hasMore ? await node.tree.readGrowth() : first;
      const faults = new Set([...first.faults, ...growth.faults].map(({ tenant }) => tenant));
      assert.deepEqual([sizesOf(growth), [...faults], growth.hasMore], [[['other', 356]], ['acme'], false]);
      await fill(node, 'other', 1);
      const more = await node.tree.readGrowth();
      assert.deepEqual([sizesOf(more), more.faults], [[['other', 357]], []]);
    });
  }

  it('withholds an event from unauthorized readers, even if its classification column was changed', async () => {
    const place = await install('acme');
    await using node = place.start();
    const secret = draftOf({ classification: 'Secret' }, { classification: 'Secret' });
    await node.log.append([request('acme', [secret])], now());
    const isFound = async (visible: readonly Classification[]) => {
      const proofRequest = { eventId: secret.eventId, visible, preferred: [] };
      return (await node.tree.forTenant('acme').proveEvent(proofRequest)) !== undefined;
    };
    for (const column of [3, 4, 32, 33, -1, -31, -32, 64]) {
      await place.raw('UPDATE entries SET classification = $1', [column]);
      assert.deepEqual(
        [await isFound(['Public', 'Internal']), await isFound(['Public', 'Secret'])],
        [false, true],
        `${column}`,
      );
    }
  });

  it('is found by a second signer: at one size there is one root', async () => {
    const place = await install('acme');
    await using one = place.start();
    await using other = place.start();
    await fill(one, 'acme', 3);
    const growth = await one.tree.readGrowth();
    const forged = {
      ...growth.grown[0]!,
      heads: [{ ...growth.grown[0]!.heads[0]!, root: new Uint8Array(32) }],
    };
    await other.tree.publish(publishedOf({ ...growth, grown: [forged] }), NOW_MS);
    await one.tree.publish(publishedOf(growth), NOW_MS);
    const after = await one.tree.readGrowth();
    assert.deepEqual([after.grown, after.faults.map(({ tenant }) => tenant)], [[], ['acme']]);
    assert.match(after.faults[0]!.message, /another root/);
  });
});

it('many logs that are behind are read in one turn, and all logs are iterated by name', async () => {
  const tenants = Array.from({ length: 450 }, (_, i) => `tenant-${String(i).padStart(3, '0')}`);
  const place = await install(...tenants);
  await using node = place.start();
  const time = now();
  await node.log.append(
    tenants.map((tenant) => request(tenant, [draftOf()])),
    time,
  );
  const { grown, hasMore } = await node.tree.readGrowth();
  assert.deepEqual([grown.length, hasMore], [450, false]);
  assert.deepEqual(await node.tree.nextLog(undefined, 0), { tenant: 'tenant-000', endIndex: 1 });
  assert.deepEqual(await node.tree.nextLog('tenant-000', 0), { tenant: 'tenant-000', endIndex: 1 });
  assert.deepEqual(await node.tree.nextLog('tenant-000', 1), { tenant: 'tenant-001', endIndex: 1 });
  assert.equal(await node.tree.nextLog('tenant-449', 1), undefined);
  const [evidence] = await node.tree.forTenant('tenant-007').evidenceRange(0, 5, 5);
  assert.equal(evidence?.index, 0);
});
