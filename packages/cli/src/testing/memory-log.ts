// A whole log in memory, as the files that a service would serve, and one that goes on after a restore; for tests.

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
  noteSigner,
  openEvent,
  sha256,
  signCheckpoint,
  type Tile,
  tilesOf,
  toBase64,
} from '@tallystick/evidence';

export const ORIGIN = 'audit.example.com/t/acme';

export interface MemoryLog {
  readonly checkpoint: Checkpoint;
  /** By path. */
  readonly files: Map<string, Uint8Array>;
  readonly tile: (tile: Tile) => Promise<Uint8Array>;
  /** What the service shows of the first entry. */
  readonly proof: (eventId: string) => Promise<string>;
}

export type Change = (entry: Entry) => Entry;

const noProof = () => Promise.reject(new Error('nobody has to ask for a proof'));

/** A whole log as files; `change` lets the log itself sign something wrong. */
export function logOf(
  size: number,
  change: Change = (entry) => entry,
  { origin = ORIGIN, proof = noProof }: { origin?: string; proof?: MemoryLog['proof'] } = {},
): MemoryLog {
  const range = new CompactRange();
  const levels: Uint8Array[][] = [];
  const entries: Uint8Array[] = [];
  let previous = genesisHash(origin);
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
    checkpoint: { origin, size, root: range.root() },
    files,
    tile: async (tile) => files.get(formatTilePath(tile))!,
    proof,
  };
}

const FORMER: Checkpoint = { origin: 'audit.example.com/t/old', size: 7, root: new Uint8Array(32).fill(7) };

/** What the first entry says of the log before. */
export function namedIn({ origin, size, root }: Checkpoint = FORMER) {
  return { previousOrigin: origin, anchoredSize: size, anchoredRoot: toBase64(root), restoredSize: 1 };
}

/** A log that goes on after a restore; its first entry may say, and its chain begin with, something else. */
export function logAfterRestore({
  origin = ORIGIN,
  former = FORMER,
  named = namedIn(former),
  genesis = epochGenesisHash(origin, formatCheckpoint(former)),
  size = 3,
}: {
  origin?: string;
  former?: Checkpoint;
  named?: ReturnType<typeof namedIn>;
  genesis?: Uint8Array;
  size?: number;
}): MemoryLog {
  const event = { actor: { actorType: 'System' }, action: 'Begin.Epoch', payload: named };
  const shown = openEvent(event, (path) => sha256(new TextEncoder().encode(path)).subarray(0, 16));
  const first: Change = (entry) =>
    entry.index > 0
      ? entry
      : { ...entry, kind: KINDS.newEpoch, previous: genesis, content: contentOf(shown) };
  const proof = async () => {
    const entry = decodeEntryBundle(await log.tile({ level: 'entries', index: 0, width: size }), size)[0]!;
    return formatEventProof({ entry, shown, hashes: [], checkpoint: await signed(log.checkpoint) });
  };
  const log = logOf(size, first, { origin, proof });
  return log;
}

/** Every log here has the same key, each under its own name, unless another is asked for. */
export function signerOf(origin: string, key = 'the key of the logs in memory') {
  return noteSigner(origin, sha256(new TextEncoder().encode(key)));
}

export async function signed(checkpoint: Checkpoint, key?: string): Promise<string> {
  return signCheckpoint(checkpoint, [await signerOf(checkpoint.origin, key)]);
}
