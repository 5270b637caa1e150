import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  epochGenesisHash,
  formatCheckpoint,
  formatTilePath,
  genesisHash,
  KINDS,
  REASONS,
  type Tile,
  tilesOf,
} from '@tallystick/evidence';
import * as fc from 'fast-check';
import { type Change, logAfterRestore, logOf, namedIn, ORIGIN } from '../testing/memory-log.ts';
import { verifyWholeLog } from './whole-log.ts';

const SEED = 20261115;
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
    const log = logAfterRestore({});
    assert.equal((await verifyWholeLog(log, log.checkpoint, nothing)).entries, 3);
    for (const wrong of [
      { genesis: genesisHash(ORIGIN) },
      { genesis: new Uint8Array(32) },
      { genesis: epochGenesisHash(`${ORIGIN}/1`, formatCheckpoint(logOf(7).checkpoint)) },
      { named: { ...namedIn(), anchoredSize: 6 } },
      { named: { ...namedIn(), previousOrigin: 'audit.example.com/t/another' } },
    ]) {
      const forged = logAfterRestore(wrong);
      await assert.rejects(verifyWholeLog(forged, forged.checkpoint, nothing), {
        reason: 'CHAIN_BROKEN',
        index: 0,
      });
    }
    const other = logAfterRestore({ named: { ...namedIn(), restoredSize: 2 } });
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
