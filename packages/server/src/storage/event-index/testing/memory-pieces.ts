// Pieces of a log in memory: segments whose blocks are kept as they are, and chunks of a tail.

import type { QueriedEvent } from '../../../query/queried-event.ts';
import { Segment } from '../segments/segment.ts';
import { SegmentBuilder } from '../segments/segment-builder.ts';
import type { Footer } from '../segments/segment-format.ts';
import type { Searched } from '../segments/searched.ts';
import { TailChunk } from '../search/tail-chunk.ts';

/** Undefined: an event whose content is removed. */
type Logged = QueriedEvent | undefined;

export function chunkOf(events: readonly Logged[], firstIndex: number): Searched {
  const chunk = new TailChunk(firstIndex, events.length);
  for (const event of events) chunk.add(event);
  return chunk.searched();
}

/** With a look at what its blocks are. */
export function segmentOf(events: readonly Logged[], firstIndex: number): MemorySegment {
  const builder = new SegmentBuilder(firstIndex, events.length);
  for (const [doc, event] of events.entries()) {
    if (event !== undefined) builder.add(event, doc);
  }
  const blocks: Buffer[] = [];
  const footer = builder.write((raw) => blocks.push(raw));
  return new MemorySegment(footer, blocks);
}

export class MemorySegment extends Segment {
  readonly blocks: readonly Buffer[];

  /** Blocks are numbered from 1. */
  constructor(footer: Footer, blocks: readonly Buffer[]) {
    super(footer, { read: async (block, _section, decode) => decode(blocks[block - 1]!) });
    this.blocks = blocks;
  }
}
