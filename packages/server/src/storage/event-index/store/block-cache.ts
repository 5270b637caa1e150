// Blocks of segments as they were decoded, kept up to a number of bytes, the longest unused thrown out first. Blocks that are
// wanted at the same time are read together.

import type { TenantId } from '@tallystick/contract';
import { pauseForOthers } from '../../../runtime/pause.ts';
import { RecentlyUsed } from '../recently-used.ts';
import { decoded } from '../segments/decoded.ts';
import type { Awaitable } from '../segments/searched.ts';
import type { Blocks } from '../segments/segment.ts';
import type { Section } from '../segments/terms.ts';
import { type BlockKeys, type BlockPlace, decodeBlock } from './block-codec.ts';
import type { SegmentStore } from './segment-store.ts';

const BYTES_MAX = 96 * 1024 * 1024;
/** Texts and objects take so many times the bytes that they were decoded from; what is bytes or numbers says itself. */
const DECODED = 3;

interface Wanted {
  readonly tenant: TenantId;
  readonly segment: number;
  readonly block: number;
  resolve(stored: Buffer): void;
  reject(error: unknown): void;
}

/** A block that a manifest speaks of is not there, or is not what was written. */
export class DamagedSegment extends Error {
  readonly segment: number;

  /** Without a block where what several of them say does not fit together. */
  constructor(segment: number, block: number | undefined, cause?: unknown) {
    const which = block === undefined ? '' : `block ${block} of `;
    super(`${which}segment ${segment} of the index is damaged, or not there`, { cause });
    this.segment = segment;
  }
}

export class BlockCache {
  readonly #store: Pick<SegmentStore, 'get'>;
  /** In an object each, since a block may be decoded into anything. */
  readonly #kept: RecentlyUsed<string, { readonly value: unknown }>;
  readonly #reading = new Map<string, Promise<unknown>>();
  #wanted: Wanted[] = [];

  constructor(store: Pick<SegmentStore, 'get'>, bytesMax = BYTES_MAX) {
    this.#store = store;
    this.#kept = new RecentlyUsed(bytesMax);
  }

  /** Those of one segment. */
  blocksOf(tenant: TenantId, segment: number, keys: BlockKeys): Blocks {
    const names = `${tenant} ${segment} `;
    return {
      read: <T>(block: number, section: Section | undefined, decode: (raw: Buffer) => T): Awaitable<T> => {
        // A section may name a block of something else, if somebody has changed it: that is decoded anew.
        const name = `${names}${block} ${section ?? ''}`;
        const kept = this.#kept.get(name);
        // A block is always decoded by the same function.
        if (kept !== undefined) return kept.value as T;
        const reading =
          this.#reading.get(name) ?? this.#read(name, { tenant, segment, block, section }, keys, decode);
        return reading as Promise<T>;
      },
    };
  }

  #read(
    name: string,
    place: BlockPlace,
    keys: BlockKeys,
    decode: (raw: Buffer) => unknown,
  ): Promise<unknown> {
    const reading = this.#stored(place)
      .then((stored) => {
        const { raw, value } = decodeOrDamaged(stored, place, keys, decode);
        const bytes = ArrayBuffer.isView(value) ? value.byteLength : raw.length * DECODED;
        this.#kept.keep(name, { value }, bytes);
        return value;
      })
      .finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  #stored({ tenant, segment, block }: BlockPlace): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#wanted.push({ tenant, segment, block, resolve, reject });
      if (this.#wanted.length === 1) void this.#readWanted();
    });
  }

  async #readWanted(): Promise<void> {
    // All that is asked for in this turn is read at once.
    await pauseForOthers();
    const wanted = this.#wanted;
    this.#wanted = [];
    for (const [tenant, own] of Map.groupBy(wanted, (each) => each.tenant)) {
      try {
        const stored = await this.#store.get(tenant, own);
        for (const [i, each] of own.entries()) {
          const bytes = stored[i];
          if (bytes === undefined) each.reject(new DamagedSegment(each.segment, each.block));
          else each.resolve(bytes);
        }
      } catch (error) {
        for (const each of own) each.reject(error);
      }
    }
  }
}

export function decodeOrDamaged<T>(
  stored: Buffer,
  place: BlockPlace,
  keys: BlockKeys,
  decode: (raw: Buffer) => T,
): { readonly raw: Buffer; readonly value: T } {
  return decoded(
    () => {
      const raw = decodeBlock(stored, place, keys);
      return { raw, value: decode(raw) };
    },
    (cause) => new DamagedSegment(place.segment, place.block, cause),
  );
}
