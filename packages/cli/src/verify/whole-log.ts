// Reads a served log from its first entry to its last and holds all of it against the signed checkpoint: every entry at
// its place and in the chain, every tile made of what is below it, the root of all. Memory stays constant: one tile of
// each level is being filled, and a few bundles are fetched ahead.

import {
  type Checkpoint,
  CompactRange,
  decodeEntry,
  decodeEntryBundle,
  type Entry,
  epochGenesisHash,
  equalBytes,
  EvidenceError,
  formatCheckpoint,
  formatTilePath,
  genesisHash,
  HASH_BYTES,
  isNotice,
  KINDS,
  leafHash,
  type Tile,
  TILE_HEIGHT,
  TILE_WIDTH,
  tileWidth,
} from '@tallystick/evidence';
import { readBeginning, requireFirst } from './new-epoch.ts';
import type { ServedLog } from './served-log.ts';

export interface WholeLogVerdict {
  readonly entries: number;
  readonly notices: number;
  readonly tiles: number;
  readonly firstReceivedAtMs: number | undefined;
  readonly lastReceivedAtMs: number | undefined;
}

/** So many bundles are under way at a time. */
const AHEAD = 4;

/** Throws EvidenceError at the first fault. `onEntries` is told how many entries were taken. */
export async function verifyWholeLog(
  log: Pick<ServedLog, 'tile' | 'proof'>,
  checkpoint: Checkpoint,
  onEntries: (count: number) => void,
): Promise<WholeLogVerdict> {
  const whole = new WholeLog();
  const bundles = Math.ceil(checkpoint.size / TILE_WIDTH);
  const fetchBundle = (index: number) => {
    const width = tileWidth('entries', index, checkpoint.size);
    const fetched = log.tile({ level: 'entries', index, width });
    // Looked at when its turn comes, or never, if one before it is refused.
    fetched.catch(() => {});
    return { width, fetched };
  };
  const ahead = Array.from({ length: Math.min(AHEAD, bundles) }, (_, index) => fetchBundle(index));
  for (let index = 0; index < bundles; index++) {
    const { width, fetched } = ahead.shift()!;
    if (index + AHEAD < bundles) ahead.push(fetchBundle(index + AHEAD));
    const entries = decodeEntryBundle(await fetched, width);
    if (index === 0) whole.begin(await genesisIn(log, entries[0]!, checkpoint));
    for (const entry of entries) whole.take(entry);
    for (const made of whole.madeTiles()) requireSame(await log.tile(made.tile), made);
    onEntries(width);
  }
  for (const made of whole.partialTiles()) requireSame(await log.tile(made.tile), made);
  if (!equalBytes(whole.root(), checkpoint.root)) {
    throw new EvidenceError('ROOT_MISMATCH', 'the entries do not lead to the signed root');
  }
  return whole.verdict();
}

interface MadeTile {
  readonly tile: Tile & { readonly level: number };
  readonly hashes: readonly Uint8Array[];
}

/** What the chain has to begin with. After a restore that is a checkpoint which the entry alone does not show. */
async function genesisIn(
  log: Pick<ServedLog, 'tile' | 'proof'>,
  first: Uint8Array,
  checkpoint: Checkpoint,
): Promise<Uint8Array> {
  const { origin } = checkpoint;
  if (decoded(first, 0).kind !== KINDS.newEpoch) return genesisHash(origin);
  // Who is asked for the proof of an entry that is none would only say that it is not there.
  await requireFirst(log, checkpoint, first);
  const { former } = await readBeginning(log, first, origin);
  return epochGenesisHash(origin, formatCheckpoint(former));
}

class WholeLog {
  readonly #range = new CompactRange();
  /** By level, the hashes of the tile that is being filled. */
  readonly #filling: Uint8Array[][] = [];
  #made: MadeTile[] = [];
  #genesis: Uint8Array | undefined;
  #last: { readonly entry: Entry; readonly leaf: Uint8Array } | undefined;
  #firstReceivedAtMs: number | undefined;
  #notices = 0;
  #tiles = 0;

  begin(genesis: Uint8Array): void {
    this.#genesis = genesis;
  }

  take(bytes: Uint8Array): void {
    const index = this.#range.size;
    const entry = decoded(bytes, index);
    this.#verifyPlace(entry, index);
    const leaf = leafHash(bytes);
    this.#last = { entry, leaf };
    this.#firstReceivedAtMs ??= entry.receivedAtMs;
    if (isNotice(entry.kind)) this.#notices++;
    this.#range.append(leaf, this.#completed);
  }

  /** The tiles that have become full since the last time. */
  madeTiles(): MadeTile[] {
    const made = this.#made;
    this.#made = [];
    this.#tiles += made.length;
    return made;
  }

  partialTiles(): MadeTile[] {
    const partial = this.#filling.flatMap((hashes, level): MadeTile[] => {
      const index = Math.floor(this.#range.size / TILE_WIDTH ** (level + 1));
      return hashes.length === 0 ? [] : [{ tile: { level, index, width: hashes.length }, hashes }];
    });
    this.#tiles += partial.length;
    return partial;
  }

  root(): Uint8Array {
    return this.#range.root();
  }

  verdict(): WholeLogVerdict {
    return {
      entries: this.#range.size,
      notices: this.#notices,
      tiles: this.#tiles,
      firstReceivedAtMs: this.#firstReceivedAtMs,
      lastReceivedAtMs: this.#last?.entry.receivedAtMs,
    };
  }

  readonly #completed = (height: number, place: number, hash: Uint8Array): void => {
    if (height % TILE_HEIGHT !== 0) return;
    const level = height / TILE_HEIGHT;
    const hashes = (this.#filling[level] ??= []);
    hashes.push(hash);
    if (hashes.length < TILE_WIDTH) return;
    const index = Math.floor(place / TILE_WIDTH);
    this.#made.push({ tile: { level, index, width: TILE_WIDTH }, hashes });
    this.#filling[level] = [];
  };

  #verifyPlace(entry: Entry, index: number): void {
    if (entry.index !== index) {
      const message = `entry ${entry.index} stands in place of ${index}`;
      throw new EvidenceError('INDEX_MISMATCH', message, { index });
    }
    if (!equalBytes(this.#last?.leaf ?? this.#genesis!, entry.previous)) {
      throw new EvidenceError('CHAIN_BROKEN', `entry ${index} does not name the leaf before it`, { index });
    }
    if (this.#last !== undefined && entry.receivedAtMs < this.#last.entry.receivedAtMs) {
      const message = `entry ${index} was received before entry ${index - 1}`;
      throw new EvidenceError('TIME_REVERSED', message, { index });
    }
  }
}

function decoded(bytes: Uint8Array, index: number): Entry {
  try {
    return decodeEntry(bytes);
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new EvidenceError(error.reason, `entry ${index}: ${error.message}`, { index, cause: error });
  }
}

/** The tile that is served is the one that the entries make. */
function requireSame(served: Uint8Array, { tile, hashes }: MadeTile): void {
  const different = hashes.findIndex(
    (hash, i) => !equalBytes(hash, served.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES)),
  );
  if (different < 0) return;
  const path = formatTilePath(tile);
  if (tile.level > 0) throw new EvidenceError('ROOT_MISMATCH', `${path} is not made of the tiles below it`);
  const index = tile.index * TILE_WIDTH + different;
  throw new EvidenceError('LEAF_MISMATCH', `entry ${index} is not the one that ${path} has`, { index });
}
