// Makes the segment of a range of the log from its events. A long range is made in pieces, which wait in memory, compressed,
// until they are merged: so it takes no more memory than its segment has bytes, and a piece.

import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { TenantId } from '@tallystick/contract';
import { pauseForOthers } from '../../../runtime/pause.ts';
import { mergeSegments } from '../segments/merge.ts';
import { type Blocks, Segment } from '../segments/segment.ts';
import { SegmentBuilder } from '../segments/segment-builder.ts';
import type { Footer, TakeBlock } from '../segments/segment-format.ts';
import type { IndexedLog, LoggedEvent } from './segment-store.ts';

const READ_BYTES_MAX = 4 * 1024 * 1024;
/** A segment, or a piece of one, has fewer events where these are large. */
const PIECE_BYTES_MAX = 64 * 1024 * 1024;
const PIECE_EVENTS = 32_768;

export interface LogRange {
  readonly tenant: TenantId;
  readonly firstIndex: number;
  readonly docs: number;
}

export interface SegmentSource {
  readonly log: Pick<IndexedLog, 'between'>;
  /** Told of an event that cannot be read. */
  readonly onUnread?: (index: number, reason: string) => Promise<void> | void;
}

export interface ReadPiece {
  readonly builder: SegmentBuilder;
  /** Those that were read: the first of the range. */
  readonly docs: number;
  readonly lastLeaf: Uint8Array;
}

/** Of the whole range, or of its beginning where its events are large. */
export async function readPiece(
  range: LogRange,
  { log, onUnread }: SegmentSource,
  pause = pauseForOthers,
): Promise<ReadPiece> {
  const { tenant, firstIndex, docs } = range;
  const end = firstIndex + docs;
  const builder = new SegmentBuilder(firstIndex, docs);
  let [next, bytes] = [firstIndex, 0];
  let lastLeaf: Uint8Array | undefined;
  while (next < end && bytes < PIECE_BYTES_MAX) {
    const portion = await log.between(tenant, next, end, READ_BYTES_MAX);
    if (portion.length === 0) throw new Error(`the log of ${tenant} ends before ${next}`);
    for (const logged of portion) {
      const fault = addTo(builder, logged, firstIndex);
      if (fault !== undefined) await onUnread?.(logged.index, fault);
      bytes += logged.bytes;
      lastLeaf = logged.leaf;
    }
    next += portion.length;
    await pause();
  }
  return { builder, docs: next - firstIndex, lastLeaf: lastLeaf! };
}

/** Why it could not be added. */
export function addTo(
  builder: SegmentBuilder,
  { index, event, fault }: LoggedEvent,
  from: number,
): string | undefined {
  try {
    if (event !== undefined) builder.add(event, index - from);
    return fault;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** All of the range. `pause` lets others have their turn. */
export async function makeSegment(
  range: LogRange,
  source: SegmentSource,
  take: TakeBlock,
  { pause = pauseForOthers, pieceEvents = PIECE_EVENTS } = {},
): Promise<Footer> {
  const pieces: Segment[] = [];
  const end = range.firstIndex + range.docs;
  for (let next = range.firstIndex; next < end; ) {
    const docs = Math.min(pieceEvents, end - next);
    const piece = await readPiece({ ...range, firstIndex: next, docs }, source, pause);
    if (piece.docs === range.docs) return piece.builder.write(take);
    const blocks = new BlocksInMemory();
    pieces.push(blocks.segment(piece.builder.write(blocks.take, piece.docs)));
    next += piece.docs;
  }
  return mergeSegments(pieces, take, pause);
}

const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A segment that is in no store. */
export class BlocksInMemory implements Blocks {
  readonly #blocks: Buffer[] = [];

  readonly take = (raw: Buffer): number => this.#blocks.push(zstdCompressSync(raw, COMPRESSION)) - 1;

  read<T>(block: number, _section: unknown, decode: (raw: Buffer) => T): T {
    return decode(zstdDecompressSync(this.#blocks[block]!));
  }

  segment(footer: Footer): Segment {
    return new Segment(footer, this);
  }
}
