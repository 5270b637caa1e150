// The index of one tenant in memory: events that are a log, and one segment of all of them whose blocks a test may change.

import { createHash } from 'node:crypto';
import type { QueriedEvent } from '../../../query/queried-event.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import type { Section } from '../segments/terms.ts';
import { BlockKeys, decodeBlock, encodeBlock } from '../store/block-codec.ts';
import { makeSegment } from '../store/make-segment.ts';
import { FIRST, type ListedSegment, type Manifest } from '../store/manifest.ts';
import { SegmentOutput } from '../store/segment-output.ts';
import type { IndexedLog, SegmentStore } from '../store/segment-store.ts';

export const TENANT = 'acme';
export const SEGMENT = 7;
const SECRET = new Uint8Array(32);
const random = createSystemRandom();

export class MemoryLog {
  readonly #events: readonly QueriedEvent[];

  constructor(events: readonly QueriedEvent[]) {
    this.#events = events;
  }

  asPort(): IndexedLog {
    const events = this.#events;
    const at = (indexes: readonly number[]) => indexes.filter((index) => events[index] !== undefined);
    return {
      behind: () => [],
      head: () => events.length,
      between: (_tenant, from, end) =>
        events
          .slice(from, end)
          .map((event, i) => ({ index: from + i, leaf: leafOf(from + i), event, bytes: 100 })),
      removedSince: () => [],
      events: (_tenant, indexes) => ({
        events: new Map(at(indexes).map((index) => [index, events[index]!])),
        readCount: indexes.length,
      }),
      // No test shows them.
      stored: (_tenant, indexes) => ({
        events: new Map(at(indexes).map((index) => [index, { index } as never])),
        readCount: indexes.length,
      }),
      leaves: (_tenant, indexes) =>
        indexes.map((index) => (index < events.length ? leafOf(index) : undefined)),
      secrets: () => [SECRET],
    };
  }
}

function leafOf(index: number): Uint8Array {
  return createHash('sha256').update(String(index)).digest();
}

/** The blocks of a segment as they were written, each with its section. */
export interface WrittenBlock {
  readonly section: Section | undefined;
  readonly raw: Buffer;
}

export class MemorySegmentStore {
  readonly keys = new BlockKeys(SECRET);
  readonly listed: ListedSegment;
  /** By their numbers. */
  readonly blocks: readonly WrittenBlock[];
  readonly #stored: ReadonlyMap<number, Uint8Array>;
  #changed: { readonly block: number; readonly bytes: Buffer } | undefined;

  private constructor(
    listed: ListedSegment,
    blocks: readonly WrittenBlock[],
    stored: ReadonlyMap<number, Uint8Array>,
  ) {
    this.listed = listed;
    this.blocks = blocks;
    this.#stored = stored;
  }

  /** With one segment of all events. */
  static async of(events: readonly QueriedEvent[]): Promise<MemorySegmentStore> {
    const stored = new Map<number, Uint8Array>();
    const keys = new BlockKeys(SECRET);
    const put: SegmentStore['put'] = (_tenant, _segment, blocks) => {
      for (const { block, bytes } of blocks) stored.set(block, bytes);
    };
    const output = new SegmentOutput(TENANT, SEGMENT, { store: { put }, keys, random });
    const sections: (Section | undefined)[] = [undefined];
    const log = new MemoryLog(events).asPort();
    const range = { tenant: TENANT, firstIndex: 0, docs: events.length };
    const footer = await makeSegment(range, { log }, (raw, section) => {
      sections.push(section);
      return output.take(raw, section);
    });
    await output.end(footer);
    const blocks = sections.map((section, block) => {
      const bytes = Buffer.from(stored.get(block)!);
      return {
        section,
        raw: decodeBlock(bytes, { tenant: TENANT, segment: SEGMENT, block, section }, keys),
      };
    });
    const lastLeaf = Buffer.from(leafOf(events.length - 1)).toString('hex');
    return new MemorySegmentStore({ id: SEGMENT, ...range, lastLeaf }, blocks, stored);
  }

  /** As somebody would who knows how blocks are written. */
  change(block: number, raw: Buffer): void {
    const { section } = this.blocks[block]!;
    const place = { tenant: TENANT, segment: SEGMENT, block, section };
    this.#changed = { block, bytes: encodeBlock(raw, place, { keys: this.keys, random }) };
  }

  /** As a disk would. */
  changeStored(block: number, change: (stored: Buffer) => Buffer): void {
    this.#changed = { block, bytes: change(Buffer.from(this.#stored.get(block)!)) };
  }

  asPort(): Pick<SegmentStore, 'manifest' | 'get'> {
    const manifest: Manifest = { ...FIRST, version: 1, segments: [this.listed] };
    return {
      manifest: () => manifest,
      get: (_tenant, wanted) =>
        wanted.map(({ segment, block }) => {
          if (segment !== SEGMENT) return undefined;
          if (block === this.#changed?.block) return this.#changed.bytes;
          const bytes = this.#stored.get(block);
          return bytes === undefined ? undefined : Buffer.from(bytes);
        }),
    };
  }
}
