// The leaf of the standard event, the verifier on a bundle of 100,000 events, and proofs from stored tiles.
// Two ceilings, both node:crypto: one call over one buffer of as many blocks as an event hashes (no call to
// pay for but one), and one call for each message that an event hashes.

import { createHash, hash, randomBytes } from 'node:crypto';
import {
  BundleVerifier,
  BundleWriter,
  CompactRange,
  ContentPool,
  type EncodedEvent,
  encodeEntry,
  encodeEvent,
  encodeTile,
  type Entry,
  ENTRY_BYTES,
  formatTilePath,
  genesisHash,
  leafHash,
  noteSigner,
  noteVerifier,
  openEvent,
  pooledContentsOf,
  proveConsistency,
  proveInclusion,
  proveRange,
  type ShownEvent,
  signCheckpoint,
  TILE_WIDTH,
  tileHashReader,
  tilesOf,
  treeRoot,
  verifyInclusion,
  writeEntry,
} from '@tallystick/evidence';
import { type Benchmark, type Contender, type Row, takeTurns } from './measure.ts';
import { standardEvent } from './standard-event.ts';

const ORIGIN = 'bench.example/t/acme';
const POOL = 100;
const ROUNDS = 600;
const BUNDLE_EVENTS = 100_000;
const TREE_LEAVES = 1_000_000;
const room = new Uint8Array(POOL * ENTRY_BYTES);

export const benchmark: Benchmark = {
  name: 'evidence',
  title: 'leaf, verifier, proofs from tiles',
  run: async () => [...(await leafRows()), ...(await verifierRows()), ...proofRows()],
};

interface Sample {
  shown: ShownEvent;
  /** The same as a store has it. */
  encoded: EncodedEvent;
  salts: [Uint8Array, Uint8Array];
  /** Lengths of all messages that lead from units to leaf; tags are cached. */
  messages: number[];
}

function sample(index: number): Sample {
  const encoded = encodeEvent(standardEvent(index));
  // One key stream a group, as a store would derive its salts.
  const salts = encoded.map(({ units }) => new Uint8Array(randomBytes(16 * units.length))) as [
    Uint8Array,
    Uint8Array,
  ];
  const shown = openEvent(standardEvent(index), (path) => {
    const group = encoded.findIndex(({ units }) => units.some((unit) => unit.path === path));
    const rank = encoded[group]!.units.findIndex((unit) => unit.path === path);
    return salts[group]!.subarray(16 * rank, 16 * rank + 16);
  });
  const values = encoded.flatMap(({ units }) => units.map(({ from, to }) => 32 + to - from));
  const roots = encoded.map(({ units }) => 19 + 64 * units.length);
  return { shown, encoded, salts, messages: [...values, ...roots, 80, 117] };
}

function blocksOf(messages: readonly number[]): number {
  return messages.reduce((blocks, length) => blocks + Math.ceil((length + 9) / 64), 0);
}

/** The two ceilings for `count` events that hash these messages each. */
function ceilings(messages: readonly number[], count: number): Contender[] {
  const buffer = randomBytes(blocksOf(messages) * 64 - 9);
  const buffers = messages.map((length) => randomBytes(length));
  return [
    {
      name: 'one call over as many blocks',
      run: () => {
        for (let i = 0; i < count; i++) hash('sha256', buffer, 'buffer');
        return count;
      },
    },
    {
      name: 'one call per message',
      run: () => {
        for (let i = 0; i < count; i++) for (const message of buffers) hash('sha256', message, 'buffer');
        return count;
      },
    },
  ];
}

async function leafRows(): Promise<Row[]> {
  const samples = Array.from({ length: POOL }, (_, i) => sample(i));
  const units = samples[0]!.encoded[0].units.length + samples[0]!.encoded[1].units.length;
  const pool = new ContentPool();
  const against = ceilings(samples[0]!.messages, POOL);
  const encoded = {
    name: 'a store',
    run: () => leavesByPool(pool, samples, (one) => pool.addEncoded(one.encoded, one.salts)),
  };
  const shown = { name: 'a verifier', run: () => leavesByPool(pool, samples, (one) => pool.add(one.shown)) };
  const calls = { name: 'calls', run: () => leavesByCalls(samples) };
  // One after the other: a service does the one all day, a verifier the other, and the compiler adapts to what it sees.
  const [blocks, messages, stored] = rates(await takeTurns([...against, encoded], ROUNDS));
  const [blocksAgain, , verified] = rates(await takeTurns([...against, shown], ROUNDS));
  const [blocksLast, , called] = rates(await takeTurns([...against, calls], ROUNDS));
  const what = `leaf, ${units} units, ${blocksOf(samples[0]!.messages)} blocks`;
  const ONE_CALL = 'one call over as many blocks';
  return [
    { ...row(`${what}: a pool of ${POOL} as a store has them`, stored!, ONE_CALL, blocks!), goal: '≥ 0.35' },
    row(`${what}: a pool of ${POOL} as a store has them`, stored!, 'one call per message', messages!),
    row(`${what}: a pool of ${POOL} as a verifier has them`, verified!, ONE_CALL, blocksAgain!),
    row(`${what}: node:crypto, one call per message`, called!, ONE_CALL, blocksLast!),
  ];
}

function rates(measured: readonly { unitsPerSecond: number }[]): number[] {
  return measured.map(({ unitsPerSecond }) => unitsPerSecond);
}

function leavesByPool(
  pool: ContentPool,
  samples: readonly Sample[],
  add: (sample: Sample) => number,
): number {
  pool.reset();
  for (const one of samples) add(one);
  pool.run();
  let previous = genesisHash(ORIGIN);
  for (let index = 0; index < samples.length; index++) {
    const at = index * ENTRY_BYTES;
    writeEntry(fieldsOf(index, previous, pool.content(index)), room, at);
    previous = leafHash(room.subarray(at, at + ENTRY_BYTES));
  }
  return samples.length;
}

/** The plain way, for comparison: every message in a call of its own. */
function leavesByCalls(samples: readonly Sample[]): number {
  const sha = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');
  let previous: Uint8Array = genesisHash(ORIGIN);
  for (const [index, { shown }] of samples.entries()) {
    const roots = shown.map((group, g) => {
      if (!('units' in group)) return group.root;
      const parts: Uint8Array[] = [
        Buffer.from(
          `audit-trail/r1\n\0${String.fromCharCode(g + 1)}\0${String.fromCharCode(group.units.length)}`,
        ),
      ];
      for (const unit of group.units) {
        if (!('value' in unit)) continue;
        parts.push(
          unit.tag.bytes,
          sha(Buffer.concat([Buffer.from('audit-trail/f1\n\0'), unit.salt, Buffer.from(unit.value)])),
        );
      }
      return sha(Buffer.concat(parts));
    });
    const content = sha(Buffer.concat([Buffer.from('audit-trail/c1\n\0'), ...roots]));
    previous = sha(Buffer.concat([Uint8Array.of(0), entryOf(index, previous, content)]));
  }
  return samples.length;
}

function entryOf(index: number, previous: Uint8Array, content: Uint8Array): Uint8Array {
  return encodeEntry(fieldsOf(index, previous, content));
}

function fieldsOf(index: number, previous: Uint8Array, content: Uint8Array): Entry {
  const eventId = '01KE0000000000000000000042';
  return { kind: 1, index, receivedAtMs: 1_767_323_046_000, eventId, previous, content };
}

async function verifierRows(): Promise<Row[]> {
  const { chunks, messages } = await bundleOf(BUNDLE_EVENTS);
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const verifier = await noteVerifier((await noteSigner(ORIGIN, new Uint8Array(32).fill(1))).verifierKey);
  const verify = (isPlain: boolean) => async () => {
    const host = isPlain ? {} : { checksum: createHash('sha256'), contentsOf: pooledContentsOf };
    const checking = new BundleVerifier({ verifiers: [verifier] }, host);
    for (const chunk of chunks) checking.push(chunk);
    return (await checking.finish()).open;
  };
  // Each event's leaf joins the tree by one node; the file's checksum is hashed as well.
  const perEvent = [...messages, 65];
  const measured = await takeTurns(
    [
      ...ceilings(perEvent, BUNDLE_EVENTS),
      { name: 'verifier', run: verify(false) },
      { name: 'verifier, plain SHA-256', run: verify(true) },
    ],
    3,
  );
  const [blocks, calls, verified, own] = measured.map(({ unitsPerSecond }) => unitsPerSecond);
  const what = `verify ${BUNDLE_EVENTS} events, ${(bytes / 1e6).toFixed(0)} MB`;
  return [
    { ...row(what, verified!, 'one call per message', calls!), goal: '≥ 0.50' },
    row(what, verified!, 'one call over as many blocks', blocks!),
    row(`${what}, by plain SHA-256`, own!, 'one call per message', calls!),
  ];
}

async function bundleOf(count: number): Promise<{ chunks: Uint8Array[]; messages: number[] }> {
  const signer = await noteSigner(ORIGIN, new Uint8Array(32).fill(1));
  const nodes = new Map<string, Uint8Array>();
  const range = new CompactRange();
  const writer = new BundleWriter(createHash('sha256'));
  const lines: Uint8Array[] = [
    writer.header({ origin: ORIGIN, size: count, from: 0, to: count, filter: null, complete: true }),
  ];
  const pool = new ContentPool();
  let previous = genesisHash(ORIGIN);
  let messages: number[] = [];
  for (let index = 0; index < count; index++) {
    const { shown, messages: lengths } = sample(index);
    messages = lengths;
    pool.reset();
    pool.add(shown);
    pool.run();
    const eventId = `01KE${String(index).padStart(22, '0')}`;
    const entry = encodeEntry({ ...fieldsOf(index, previous, pool.content(0)), eventId });
    previous = leafHash(entry);
    range.append(previous, (level, at, node) => nodes.set(`${level}/${at}`, node));
    lines.push(writer.entry({ entry, shown }));
  }
  const root = range.root();
  const proof = proveRange(0, count, count, (level, at) => nodes.get(`${level}/${at}`)!);
  lines.push(writer.trailer(proof, await signCheckpoint({ origin: ORIGIN, size: count, root }, [signer])));
  return { chunks: inChunks(Buffer.concat(lines)), messages };
}

function inChunks(bytes: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += 65_536) chunks.push(bytes.subarray(at, at + 65_536));
  return chunks;
}

/** A tree in memory, kept as tiles like a store keeps it. */
function proofRows(): Row[] {
  const levels: Uint8Array[][] = [];
  const range = new CompactRange();
  for (let i = 0; i < TREE_LEAVES; i++) {
    const leaf = leafHash(Uint8Array.of(i >>> 16, i >>> 8, i));
    range.append(leaf, (level, index, node) => ((levels[level] ??= [])[index] = node));
  }
  const tiles = new Map(
    [...tilesOf(TREE_LEAVES)].map((tile) => {
      const first = tile.index * TILE_WIDTH;
      return [formatTilePath(tile), encodeTile(levels[tile.level * 8]!.slice(first, first + tile.width))];
    }),
  );
  const read = tileHashReader(TREE_LEAVES, (tile) => tiles.get(formatTilePath(tile))!);
  const root = treeRoot(TREE_LEAVES, read);
  const inclusion = timesOf(2_000, (i) => {
    const index = (i * 7919 + 13) % TREE_LEAVES;
    return () =>
      proveInclusion(
        index,
        TREE_LEAVES,
        tileHashReader(TREE_LEAVES, (tile) => tiles.get(formatTilePath(tile))!),
      );
  });
  const consistency = timesOf(
    500,
    (i) => () => proveConsistency(1 + ((i * 7919) % TREE_LEAVES), TREE_LEAVES, read),
  );
  const leaf = levels[0]![77]!;
  verifyInclusion({ leaf, index: 77, size: TREE_LEAVES, proof: proveInclusion(77, TREE_LEAVES, read), root });
  return [
    {
      name: `inclusion proof from tiles, ${TREE_LEAVES} leaves, p95`,
      figure: `${inclusion.toFixed(3)} ms`,
      goal: '< 1 ms',
    },
    {
      name: `consistency proof from tiles, ${TREE_LEAVES} leaves, p95`,
      figure: `${consistency.toFixed(3)} ms`,
      goal: '< 1 ms',
    },
  ];
}

/** The 95th percentile in milliseconds. */
function timesOf(count: number, workOf: (i: number) => () => unknown): number {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const work = workOf(i);
    const start = process.hrtime.bigint();
    work();
    times.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  return times.sort((a, b) => a - b)[Math.floor(count * 0.95)]!;
}

function row(name: string, perSecond: number, against: string, ceiling: number): Row {
  return { name, figure: `${(1e6 / perSecond).toFixed(2)} µs`, against, ratio: perSecond / ceiling };
}
