import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Checkpoint,
  CompactRange,
  contentOf,
  decodeEntryBundle,
  encodeEntry,
  encodeEntryBundle,
  encodeTile,
  type Entry,
  epochGenesisHash,
  eventIdText,
  formatCheckpoint,
  formatEventProof,
  formatTilePath,
  genesisHash,
  KINDS,
  leafHash,
  openEvent,
  REASONS,
  sha256,
  type Tile,
  tilesOf,
  toBase64,
} from '@tallystick/evidence';
import * as fc from 'fast-check';
import { sampleLog } from './testing/sample-log.ts';
import { verifyWholeLog } from './whole-log.ts';

const SEED = 20261115;
const ORIGIN = 'audit.example.com/t/acme';

interface MemoryLog {
  readonly checkpoint: Checkpoint;
  /** By path. */
  readonly files: Map<string, Uint8Array>;
  readonly tile: (tile: Tile) => Promise<Uint8Array>;
  /** What the service shows of the first entry. */
  readonly proof: (eventId: string) => Promise<string>;
}

type Change = (entry: Entry) => Entry;

const noProof = () => Promise.reject(new Error('nobody has to ask for a proof'));

/** A whole log as files; `change` lets the log itself sign something wrong. */
function logOf(
  size: number,
  change: Change = (entry) => entry,
  proof: MemoryLog['proof'] = noProof,
): MemoryLog {
  const range = new CompactRange();
  const levels: Uint8Array[][] = [];
  const entries: Uint8Array[] = [];
  let previous = genesisHash(ORIGIN);
  for (let index = 0; index < size; index++) {
    const eventId = new Uint8Array(16);
    new DataView(eventId.buffer).setUint32(12, index);
    const entry: Entry = {
      kind: index % 100 === 99 ? KINDS.streamSeal : KINDS.event,
      index,
      receivedAtMs: 1_767_323_046_000 + index,
      eventId: eventIdText(eventId),
      previous,
      content: new Uint8Array(32).fill(index),
    };
    const bytes = encodeEntry(change(entry));
    entries.push(bytes);
    previous = leafHash(bytes);
    range.append(previous, (height, _, hash) => {
      if (height % 8 === 0) (levels[height / 8] ??= []).push(hash);
    });
  }
  const files = new Map<string, Uint8Array>();
  for (const tile of tilesOf(size)) {
    const [from, to] = [tile.index * 256, tile.index * 256 + tile.width];
    files.set(formatTilePath(tile), encodeTile(levels[tile.level]!.slice(from, to)));
    if (tile.level === 0) {
      files.set(formatTilePath({ ...tile, level: 'entries' }), encodeEntryBundle(entries.slice(from, to)));
    }
  }
  return {
    checkpoint: { origin: ORIGIN, size, root: range.root() },
    files,
    tile: async (tile) => files.get(formatTilePath(tile))!,
    proof,
  };
}

const FORMER: Checkpoint = { origin: 'audit.example.com/t/old', size: 7, root: new Uint8Array(32).fill(7) };
const NAMED = {
  previousOrigin: FORMER.origin,
  anchoredSize: FORMER.size,
  anchoredRoot: toBase64(FORMER.root),
  restoredSize: 2,
};

/** A log that goes on after a restore; `change` lets its first entry say or begin something else. */
async function logAfterRestore({
  named = NAMED,
  genesis = epochGenesisHash(ORIGIN, formatCheckpoint(FORMER)),
}) {
  const event = { actor: { actorType: 'System' }, action: 'Begin.Epoch', payload: named };
  const shown = openEvent(event, (path) => sha256(new TextEncoder().encode(path)).subarray(0, 16));
  const sample = await sampleLog(ORIGIN);
  const first: Change = (entry) =>
    entry.index > 0
      ? entry
      : { ...entry, kind: KINDS.newEpoch, previous: genesis, content: contentOf(shown) };
  const log = logOf(3, first, async () => {
    const entry = decodeEntryBundle(await log.tile({ level: 'entries', index: 0, width: 3 }), 3)[0]!;
    return formatEventProof({ entry, shown, hashes: [], checkpoint: await sample.note(3) });
  });
  return log;
}

const nothing = () => {};

describe('a whole log', () => {
  it('is verified at every width of tiles, and all of it is counted', async () => {
    for (const size of [0, 1, 255, 256, 257, 1100, 65_793]) {
      const log = logOf(size);
      let told = 0;
      const verdict = await verifyWholeLog(log, log.checkpoint, (count) => (told += count));
      const tiles = [...tilesOf(size)].length;
      assert.deepEqual(
        [verdict.entries, verdict.notices, verdict.tiles, told],
        [size, Math.floor(size / 100), tiles, size],
      );
    }
  });

  it(`is refused when a byte of any of its files is another (seed ${SEED})`, async () => {
    const log = logOf(600);
    const paths = [...log.files.keys()];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (path, at, bits) => {
          const tile = async (asked: Tile) => {
            const bytes = (await log.tile(asked)).slice();
            if (formatTilePath(asked) === path) bytes[at % bytes.length]! ^= bits;
            return bytes;
          };
          return assert.rejects(verifyWholeLog({ ...log, tile }, log.checkpoint, nothing), (error: Error) =>
            REASONS.some((reason) => 'reason' in error && error.reason === reason),
          );
        },
      ),
      { seed: SEED, numRuns: 150 },
    );
  });

  it('is refused at the first entry that the log has signed in a wrong place', async () => {
    const at300 =
      (change: Change): Change =>
      (entry) =>
        entry.index === 300 ? change(entry) : entry;
    for (const [reason, change] of [
      ['INDEX_MISMATCH', at300((entry) => ({ ...entry, index: 301 }))],
      ['CHAIN_BROKEN', at300((entry) => ({ ...entry, previous: new Uint8Array(32) }))],
      ['TIME_REVERSED', at300((entry) => ({ ...entry, receivedAtMs: 1 }))],
    ] as const) {
      const log = logOf(400, change);
      await assert.rejects(verifyWholeLog(log, log.checkpoint, nothing), { reason, index: 300 });
    }
    const stranger = logOf(3, (entry) =>
      entry.index === 0 ? { ...entry, previous: new Uint8Array(32) } : entry,
    );
    await assert.rejects(verifyWholeLog(stranger, stranger.checkpoint, nothing), { reason: 'CHAIN_BROKEN' });
  });

  it('that goes on after a restore begins with the checkpoint that its first entry names', async () => {
    const log = await logAfterRestore({});
    assert.equal((await verifyWholeLog(log, log.checkpoint, nothing)).entries, 3);
    for (const wrong of [
      { genesis: genesisHash(ORIGIN) },
      { genesis: new Uint8Array(32) },
      { genesis: epochGenesisHash(`${ORIGIN}/1`, formatCheckpoint(FORMER)) },
      { named: { ...NAMED, anchoredSize: 6 } },
      { named: { ...NAMED, previousOrigin: 'audit.example.com/t/another' } },
    ]) {
      const forged = await logAfterRestore(wrong);
      await assert.rejects(verifyWholeLog(forged, forged.checkpoint, nothing), {
        reason: 'CHAIN_BROKEN',
        index: 0,
      });
    }
    const other = await logAfterRestore({ named: { ...NAMED, restoredSize: 3 } });
    await assert.rejects(verifyWholeLog({ ...log, proof: other.proof }, log.checkpoint, nothing), {
      reason: 'LEAF_MISMATCH',
      index: 0,
    });
  });

  it('is refused when all of it is another log than the signed one', async () => {
    const [log, other] = [logOf(300), logOf(300, (entry) => ({ ...entry, kind: KINDS.event }))];
    await assert.rejects(verifyWholeLog(other, log.checkpoint, nothing), { reason: 'ROOT_MISMATCH' });
  });
});
