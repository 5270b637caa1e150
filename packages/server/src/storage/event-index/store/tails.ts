// The tails of logs: events that are in no segment yet, read from the log as far as it has come, and kept in memory for the
// next search. A tail is made of chunks, so that what a new segment holds can be dropped without losing the rest.

import type { TenantId } from '@tallystick/contract';
import { TailChunk } from '../search/tail-chunk.ts';
import type { Searched } from '../segments/searched.ts';
import type { IndexedLog, LoggedEvent } from './segment-store.ts';

const CHUNK_EVENTS = 256;
/**
 * Where a segment would begin and so many are left: a chunk of many takes less for each event, and is searched at once. Were it
 * to begin elsewhere, the next segment would end within it, and all of the tail would have to be read again.
 */
const LARGE_CHUNK_EVENTS = 2048;
/** Of what is kept of all texts, which takes about as much as they do, and of all chunks. */
const BYTES_MAX = 64 * 1024 * 1024;
/** A chunk takes so much, however few events it has. */
const CHUNK_BYTES = 64 * 1024;
const READ_BYTES_MAX = 4 * 1024 * 1024;

interface Tail {
  /** Where it began first; segments end at so many events from there. */
  readonly from: number;
  readonly chunks: TailChunk[];
  /** Of the last event: a log that was put back is found out by it. */
  lastLeaf: Uint8Array | undefined;
  bytes: number;
  /** That of the manifest when it was begun. */
  readonly removalsTo: number;
}

export interface TailRead {
  readonly pieces: readonly Searched[];
  /** Of the texts in it. */
  readonly bytes: number;
}

export class Tails {
  readonly #log: Pick<IndexedLog, 'between'>;
  /** The longest unused first. */
  readonly #tails = new Map<TenantId, Tail>();
  readonly #extending = new Map<TenantId, Promise<unknown>>();
  #bytes = 0;

  constructor(log: Pick<IndexedLog, 'between'>) {
    this.#log = log;
  }

  /** All events from one index to before another. Where more is removed from segments by now, nothing older is kept. */
  async between(tenant: TenantId, from: number, end: number, removalsTo: number): Promise<TailRead> {
    // One after the other: two that read the same events would both add them.
    const extended = (this.#extending.get(tenant) ?? Promise.resolve()).then(() =>
      this.#extended(tenant, from, end, removalsTo),
    );
    const settled = extended.catch(() => {});
    this.#extending.set(tenant, settled);
    try {
      return await extended;
    } finally {
      if (this.#extending.get(tenant) === settled) this.#extending.delete(tenant);
    }
  }

  async #extended(tenant: TenantId, from: number, end: number, removalsTo: number): Promise<TailRead> {
    const tail = this.#take(tenant, from, end, removalsTo);
    try {
      await this.#extend(tail, tenant, from, end);
    } finally {
      this.#keep(tenant, tail);
    }
    return { pieces: tail.chunks.map((chunk) => chunk.searched()), bytes: tail.bytes };
  }

  /** What is kept and still holds; another one takes its place. */
  #take(tenant: TenantId, from: number, end: number, removalsTo: number): Tail {
    const empty: Tail = { from, chunks: [], lastLeaf: undefined, bytes: 0, removalsTo };
    const kept = this.#tails.get(tenant);
    if (kept === undefined) return empty;
    this.#tails.delete(tenant);
    this.#bytes -= sizeOf(kept);
    const chunks = kept.chunks.filter(({ firstIndex }) => firstIndex >= from);
    if (chunks[0]?.firstIndex !== from || endOf(chunks, from) > end || kept.removalsTo !== removalsTo)
      return empty;
    return { ...kept, chunks, bytes: (kept.bytes * docsIn(chunks)) / docsIn(kept.chunks) };
  }

  async #extend(tail: Tail, tenant: TenantId, from: number, end: number): Promise<void> {
    for (let next = endOf(tail.chunks, from); next < end; next = endOf(tail.chunks, from)) {
      // The last one is read again, to see that it is still the same.
      const isNew = tail.lastLeaf === undefined;
      const read = await this.#log.between(tenant, isNew ? next : next - 1, end, READ_BYTES_MAX);
      const events = isNew ? read : read.slice(1);
      if (!isNew && !isSame(read[0]?.leaf, tail.lastLeaf)) {
        tail.chunks.length = 0;
        tail.lastLeaf = undefined;
        tail.bytes = 0;
        continue;
      }
      if (events.length === 0) return;
      for (const event of events) add(tail, event, end - event.index);
    }
  }

  #keep(tenant: TenantId, tail: Tail): void {
    if (tail.chunks.length === 0) return;
    this.#tails.set(tenant, tail);
    this.#bytes += sizeOf(tail);
    for (const [oldest, kept] of this.#tails) {
      if (this.#bytes <= BYTES_MAX || oldest === tenant) return;
      this.#tails.delete(oldest);
      this.#bytes -= sizeOf(kept);
    }
  }
}

function sizeOf({ bytes, chunks }: Tail): number {
  return bytes + CHUNK_BYTES * chunks.length;
}

/** `left` are to be added, this one included. */
function add(tail: Tail, { index, event, leaf, bytes }: LoggedEvent, left: number): void {
  let last = tail.chunks.at(-1);
  if (last === undefined || last.isFull) {
    const isLarge = left >= LARGE_CHUNK_EVENTS && (index - tail.from) % LARGE_CHUNK_EVENTS === 0;
    last = new TailChunk(index, isLarge ? LARGE_CHUNK_EVENTS : CHUNK_EVENTS);
    tail.chunks.push(last);
  }
  addOrPassOver(last, event);
  tail.lastLeaf = leaf;
  tail.bytes += bytes;
}

function docsIn(chunks: readonly TailChunk[]): number {
  return chunks.reduce((sum, { docs }) => sum + docs, 0);
}

function endOf(chunks: readonly TailChunk[], from: number): number {
  const last = chunks.at(-1);
  return last === undefined ? from : last.firstIndex + last.docs;
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

/** One that cannot be indexed keeps its place, and is found by nothing. */
function addOrPassOver(chunk: TailChunk, event: LoggedEvent['event']): void {
  try {
    chunk.add(event);
  } catch {
    chunk.add(undefined);
  }
}
