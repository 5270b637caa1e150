import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Checkpoint,
  CompactRange,
  encodeEntry,
  encodeEntryBundle,
  encodeTile,
  type Entry,
  eventIdText,
  formatTilePath,
  genesisHash,
  KINDS,
  leafHash,
  REASONS,
  type Tile,
  tilesOf,
} from '@tallystick/evidence';
import * as fc from 'fast-check';
import { verifyWholeLog } from './whole-log.ts';

const SEED = 20261115;
const ORIGIN = 'audit.example.com/t/acme';

interface MemoryLog {
  readonly checkpoint: Checkpoint;
  /** By path. */
  readonly files: Map<string, Uint8Array>;
  readonly tile: (tile: Tile) => Promise<Uint8Array>;
}

type Change = (entry: Entry) => Entry;

/** A whole log as files; `change` lets the log itself sign something wrong. */
function logOf(size: number, change: Change = (entry) => entry): MemoryLog {
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
  };
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
          return assert.rejects(verifyWholeLog({ tile }, log.checkpoint, nothing), (error: Error) =>
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

  it('is refused when all of it is another log than the signed one', async () => {
    const [log, other] = [logOf(300), logOf(300, (entry) => ({ ...entry, kind: KINDS.event }))];
    await assert.rejects(verifyWholeLog(other, log.checkpoint, nothing), { reason: 'ROOT_MISMATCH' });
  });
});
