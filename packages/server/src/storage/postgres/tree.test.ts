// Logs that several nodes sign on one database, and logs that somebody has changed.

import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import type { Classification } from '@tallystick/contract';
import {
  CompactRange,
  equalBytes,
  formatCheckpoint,
  keyIdOf,
  leafHash,
  parseCheckpoint,
  parseNote,
  SIGNATURE_TYPES,
  signatureLine,
} from '@tallystick/evidence';
import { systemClock } from '../../runtime/clock.ts';
import { createUlids } from '../../runtime/ids.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import type { LogReader, LogWriter, StreamLimits } from '../../streams/log.ts';
import type { Growth, TreeHead, TreeReader, TreeWriter } from '../../streams/tree.ts';
import { type PostgresServer, startPostgres } from '../../testing/postgres-server.ts';
import { draftOf, now, NOW_MS, request, STREAMS } from '../conformance/claims.ts';
import { PoolCommitter } from '../pool/pool-commitments.ts';
import { Database, SCHEMA } from './database.ts';
import { createLog } from './log.ts';
import { migrate } from './migrate.ts';
import { createTree } from './tree.ts';

const ORIGIN = 'audit.example.com';
/** Those that are written; the others follow from them. */
const ENTRY_COLUMNS = 'tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const PUBLIC_KEY = Uint8Array.from(Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url'));
const KEY = createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' }));

let server: PostgresServer;
let migrated: string;
before(async () => {
  server = await startPostgres();
  migrated = await server.createDatabase();
  await using owner = new Database({ url: migrated, connectionsMax: 1 });
  await migrate(owner, 'postgres');
});
after(() => server?.[Symbol.asyncDispose]());

interface Node extends AsyncDisposable {
  readonly log: LogWriter & LogReader;
  readonly tree: TreeWriter & TreeReader;
}

interface Installation {
  readonly start: (streams?: Partial<StreamLimits>) => Node;
  /** As whoever owns the tables can, past all rights. */
  readonly raw: (sql: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;
  readonly connect: () => Promise<Client>;
}

async function install(...tenants: string[]): Promise<Installation> {
  const url = await server.createDatabase(migrated);
  const connect = async () => {
    const client = new Client({ connectionString: url, options: `-c search_path=${SCHEMA}` });
    await client.connect();
    return client;
  };
  const raw = async (sql: string, values: readonly unknown[] = []) => {
    const client = await connect();
    try {
      return (await client.query<Record<string, unknown>>(sql, [...values])).rows;
    } finally {
      await client.end();
    }
  };
  await raw('INSERT INTO heads (tenant_id) SELECT unnest($1::text[])', [tenants]);
  return { start: (streams) => startNode(url, { ...STREAMS, ...streams }), raw, connect };
}

function startNode(url: string, streams: StreamLimits): Node {
  const random = createSystemRandom();
  const writing = new Database({ url, connectionsMax: 1 });
  const reading = new Database({ url, connectionsMax: 4 });
  const nextId = createUlids(systemClock, random);
  const committer = new PoolCommitter(random);
  const parts = {
    writing,
    reading,
    committer,
    logOrigin: ORIGIN,
    streams,
    clock: systemClock,
    random,
    nextId,
  };
  return {
    log: createLog(parts),
    tree: createTree(reading, ORIGIN),
    async [Symbol.asyncDispose]() {
      await writing[Symbol.asyncDispose]();
      await reading[Symbol.asyncDispose]();
    },
  };
}

async function fill({ log }: Node, tenant: string, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, () => draftOf({ classification: 'Internal' }));
  const [result] = await log.append([request(tenant, drafts)], now());
  assert.equal(result?.status, 'Done');
}

function noteOf(head: TreeHead): string {
  const text = formatCheckpoint(head);
  const keyId = keyIdOf({ name: head.origin, type: SIGNATURE_TYPES.note, publicKey: PUBLIC_KEY });
  const signature = Uint8Array.from(sign(null, Buffer.from(text), KEY));
  return `${text}\n${signatureLine({ name: head.origin, keyId, signature })}`;
}

const publishedOf = ({ grown }: Growth) =>
  grown.map(({ tenant, epoch, heads, tileHashes }) => ({
    tenant,
    epoch,
    checkpoints: heads.map((head) => ({ size: head.size, note: noteOf(head) })),
    tileHashes,
  }));

const sizesOf = ({ grown }: Growth) =>
  grown.map(({ tenant, heads }) => [tenant, ...heads.map(({ size }) => size)]);

async function publish({ tree }: Node): Promise<unknown[]> {
  const growth = await tree.readGrowth();
  await tree.publish(publishedOf(growth), NOW_MS);
  return sizesOf(growth);
}

async function rootAt({ raw }: Installation, tenant: string, size: number): Promise<Uint8Array> {
  const rows = await raw(
    'SELECT entry FROM entries WHERE tenant_id = $1 AND leaf_index < $2 ORDER BY leaf_index',
    [tenant, size],
  );
  const leaves = rows.map(({ entry }) => leafHash(Uint8Array.from(entry as Buffer)));
  return CompactRange.of(0, leaves).root();
}

async function storedSizes({ raw }: Installation, tenant: string): Promise<number[]> {
  const rows = await raw('SELECT size FROM checkpoints WHERE tenant_id = $1 ORDER BY size', [tenant]);
  return rows.map(({ size }) => Number(size));
}

describe('several nodes', { concurrency: 1 }, () => {
  it('sign the same logs: who comes late is left out, and goes on from what is stored', async () => {
    const place = await install('acme');
    await using one = place.start();
    await using other = place.start();
    await fill(one, 'acme', 300);
    const early = await other.tree.readGrowth();
    await fill(one, 'acme', 100);
    assert.deepEqual(await publish(one), [['acme', 400]]);
    await other.tree.publish(publishedOf(early), NOW_MS);
    assert.deepEqual(await storedSizes(place, 'acme'), [400]);
    // It is given as it is stored, though nothing is left to read: somebody may wait for it.
    assert.deepEqual(await publish(other), [['acme', 400]]);
    assert.deepEqual(sizesOf(await other.tree.readGrowth()), []);
    await fill(other, 'acme', 200);
    assert.deepEqual(await publish(other), [['acme', 600]]);
    assert.deepEqual(await publish(one), [['acme', 600]]);
    assert.deepEqual(await storedSizes(place, 'acme'), [400, 600]);
    const { note } = (await (await one.tree.tree('acme'))!.latest())!;
    assert.deepEqual(parseCheckpoint(parseNote(note).text).root, await rootAt(place, 'acme', 600));
  });

  it('never store a checkpoint behind a larger one, however they meet', async () => {
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
        const { note } = (await (await one.tree.tree(tenant))!.checkpoint(Number(size)))!;
        assert.deepEqual(
          parseCheckpoint(parseNote(note).text).root,
          await rootAt(place, tenant, Number(size)),
        );
      }
    }
  });

  it('tell of each log that another has brought further, also of one that is new', async () => {
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

  it('give the head at a size that was asked for, though another has signed beyond it', async () => {
    const place = await install('acme', 'beta');
    await using one = place.start();
    await using other = place.start();
    for (const tenant of ['acme', 'beta']) await fill(one, tenant, 5);
    await other.tree.standings();
    for (const tenant of ['acme', 'beta']) await other.tree.stopAt(tenant, 3);
    await publish(one);
    await fill(one, 'beta', 2);
    const { grown, faults } = await other.tree.readGrowth();
    assert.deepEqual(faults, []);
    assert.deepEqual(sizesOf({ grown, faults, hasMore: false }), [
      ['acme', 3, 5],
      ['beta', 3, 7],
    ]);
    for (const { tenant, heads } of grown)
      for (const { size, root } of heads) assert.deepEqual(root, await rootAt(place, tenant, size));
    await other.tree.publish(publishedOf({ grown, faults, hasMore: false }), NOW_MS);
    assert.deepEqual(sizesOf(await other.tree.readGrowth()), []);
    assert.deepEqual(await storedSizes(place, 'acme'), [5]);
  });

  it('find what is committed late, in the middle of what others have committed since', async () => {
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
    const { note, size } = (await (await one.tree.tree('acme'))!.latest())!;
    const line = (name: string) => signatureLine({ name, keyId: '00000001', signature: new Uint8Array(72) });
    const cosign = ({ tree }: Node, name: string) =>
      tree.cosign([{ tenant: 'acme', epoch: 0, size, note: note + line(name) }]);
    const [first, second] = await Promise.all([cosign(one, 'w1'), cosign(other, 'w2')]);
    assert.notEqual(first[0], second[0], 'one of them comes too late');
    const stored = (await (await one.tree.tree('acme'))!.latest())!.note;
    assert.equal(stored, note + line(first[0] === true ? 'w1' : 'w2'));
  });
});

describe('a log that somebody has changed', { concurrency: 1 }, () => {
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
    it(`is its own fault, told once, and the others are read: ${what}`, async () => {
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
      // Where a head says that there are more entries than are read at once, the others have the next turn.
      const growth = first.hasMore ? await node.tree.readGrowth() : first;
      const faults = new Set([...first.faults, ...growth.faults].map(({ tenant }) => tenant));
      assert.deepEqual([sizesOf(growth), [...faults], growth.hasMore], [[['other', 356]], ['acme'], false]);
      await fill(node, 'other', 1);
      const more = await node.tree.readGrowth();
      assert.deepEqual([sizesOf(more), more.faults], [[['other', 357]], []]);
    });
  }

  it('shows an event to nobody who might not see it, whatever its class says', async () => {
    const place = await install('acme');
    await using node = place.start();
    const secret = draftOf({ classification: 'Secret' }, { classification: 'Secret' });
    await node.log.append([request('acme', [secret])], now());
    const isFound = async (visible: readonly Classification[]) => {
      const wish = { eventId: secret.eventId, visible, preferred: [] };
      return (await node.tree.proveEvent('acme', wish)) !== undefined;
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

  it('is found by whoever signs it beside another: at one size there is one root', async () => {
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

describe('a range of a log', { concurrency: 1 }, () => {
  let place: Installation;
  let node: Node;
  before(async () => {
    place = await install('acme');
    node = place.start({ sealAfterEvents: 100 });
    await fill(node, 'acme', 350);
    await publish(node);
    await fill(node, 'acme', 20);
  });
  after(() => node?.[Symbol.asyncDispose]());

  async function check(fromIndex: number, endIndex: number, streamId?: string) {
    const steps: number[] = [];
    const wish = { tenant: 'acme', fromIndex, endIndex, publicKeys: [PUBLIC_KEY] };
    const verdict = await node.tree.checkRange(
      streamId === undefined ? wish : { ...wish, streamId },
      (checked) => steps.push(checked),
    );
    assert.deepEqual(
      steps,
      steps.toSorted((a, b) => a - b),
    );
    return verdict;
  }

  /** What is found after somebody has done something, which is then put back. */
  async function faultAfter(sql: string, fromIndex: number, endIndex: number, streamId?: string) {
    await place.raw('CREATE TABLE kept AS SELECT * FROM entries');
    await place.raw('CREATE TABLE kept_contents AS SELECT * FROM contents');
    await place.raw('CREATE TABLE kept_streams AS SELECT * FROM streams');
    try {
      await place.raw(sql);
      const { fault } = await check(fromIndex, endIndex, streamId);
      return [fault?.reason, fault?.index];
    } finally {
      await place.raw('TRUNCATE entries, contents, streams');
      await place.raw(`INSERT INTO entries (${ENTRY_COLUMNS}) SELECT ${ENTRY_COLUMNS} FROM kept`);
      await place.raw('INSERT INTO contents SELECT * FROM kept_contents');
      await place.raw('INSERT INTO streams SELECT * FROM kept_streams');
      await place.raw('DROP TABLE kept, kept_contents, kept_streams');
    }
  }

  it('verifies whatever part it is, and each stream', async () => {
    const size = (await (await node.tree.tree('acme'))!.latest())!.size;
    for (const [from, end] of [
      [0, size],
      [0, 1],
      [size - 1, size],
      [42, 300],
      [7, 7],
      [size - 3, size + 5],
    ] as const) {
      const { fault, checkedEvents, treeSize, rootHash } = await check(from, end);
      assert.deepEqual([fault, checkedEvents, treeSize], [undefined, end - from, size], `${from} to ${end}`);
      assert.ok(equalBytes(rootHash, await rootAt(place, 'acme', size)));
    }
    const streams = await node.log.forTenant('acme').streams({ before: undefined }, 10);
    assert.ok(streams.length >= 4);
    for (const { streamId, firstIndex, endIndex } of streams)
      assert.equal((await check(firstIndex, endIndex, streamId)).fault, undefined, `from ${firstIndex}`);
  });

  it('names what was changed in it, and what is missing', async () => {
    const text = `UPDATE contents SET text2 = '{"payload":{"a":1}}' WHERE leaf_index = 55`;
    assert.deepEqual(await faultAfter(text, 42, 75), ['LEAF_MISMATCH', 55]);
    assert.deepEqual(await faultAfter(text, 0, 42), [undefined, undefined]);
    const leaf = `UPDATE entries SET leaf = decode(repeat('00', 32), 'hex') WHERE leaf_index = 50`;
    assert.deepEqual(await faultAfter(leaf, 42, 75), ['LEAF_MISMATCH', 50]);
    assert.deepEqual(await faultAfter(leaf, 0, 42), ['ROOT_MISMATCH', 0]);
    const gone = (index: number) => `DELETE FROM entries WHERE leaf_index = ${index}`;
    assert.deepEqual(await faultAfter(gone(50), 42, 75), ['INDEX_MISMATCH', 50]);
    assert.deepEqual(await faultAfter(gone(74), 42, 75), ['TRUNCATED', 74]);
    const content = 'DELETE FROM contents WHERE leaf_index = 20';
    assert.deepEqual(await faultAfter(content, 0, 42), ['GAP_UNEXPLAINED', 20]);
  });

  it('is the stream that the log says', async () => {
    const [first, second] = await node.log.forTenant('acme').streams({ after: undefined }, 2);
    const { streamId, firstIndex, endIndex } = second!;
    const moved = `UPDATE streams SET first_index = first_index + 1 WHERE stream_id = '${streamId}'`;
    const [reason] = await faultAfter(moved, firstIndex + 1, endIndex, streamId);
    assert.equal(reason, 'LEAF_MISMATCH');
    const none = `DELETE FROM streams WHERE stream_id = '${first!.streamId}'`;
    assert.deepEqual((await faultAfter(none, 0, first!.endIndex, first!.streamId))[0], 'TRUNCATED');
  });

  it('is held against a checkpoint that is signed by a key that is known', async () => {
    const wish = { tenant: 'acme', fromIndex: 0, endIndex: 10, publicKeys: [new Uint8Array(32).fill(9)] };
    const { fault } = await node.tree.checkRange(wish, () => {});
    assert.equal(fault?.reason, 'KEY_UNKNOWN');
    const nobody = { ...wish, tenant: 'nobody' };
    assert.equal((await node.tree.checkRange(nobody, () => {})).fault?.reason, 'TRUNCATED');
  });
});

it('many logs that are behind are read in one turn, and all logs are gone through by name', async () => {
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
  const [evidence] = await node.tree.evidenceRange('tenant-007', 0, 5, 5);
  assert.equal(evidence?.index, 0);
});
