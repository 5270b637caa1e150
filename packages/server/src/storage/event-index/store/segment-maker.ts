// Makes segments of what logs have beyond them, and one of many where enough neighbours are of a size.

import type { TenantId } from '@tallystick/contract';
import type { BuildStep } from '../../../events/event-index.ts';
import type { FollowerTurn, LogLeft, SetAside } from '../../../followers/follower-work.ts';
import { NO_SUCH_EVENT } from '../index-letter.ts';
import { mergeSegments } from '../segments/merge.ts';
import { SegmentBuilder } from '../segments/segment-builder.ts';
import { DamagedSegment } from './block-cache.ts';
import { BlockKeys } from './block-codec.ts';
import { endOf, FIRST, type ListedSegment, type Manifest, ofThisLog } from './manifest.ts';
import { addTo, readPiece } from './make-segment.ts';
import { openUncached } from './open-segment.ts';
import { SegmentWriter, type WriterParts } from './segment-writer.ts';
import { type LogBehind, TAIL_EVENTS_MAX } from './segment-store.ts';

export interface SegmentSizes {
  /** Events of the smallest segment; a shorter tail is searched as it is. */
  readonly small: number;
  /** So many neighbours of a size become one, twice. A follower that is behind makes the second size at once. */
  readonly merged: number;
}

const SIZES: SegmentSizes = { small: 2048, merged: 16 };

export interface MakerParts extends WriterParts {
  readonly sizes?: SegmentSizes;
}

export class SegmentMaker {
  readonly #parts: MakerParts;
  readonly #writer: SegmentWriter;
  readonly #sizes: SegmentSizes;
  /** Logs whose tails are large, though they have few events. */
  readonly #heavy = new Set<TenantId>();
  /** Logs whose segments may have to be merged. */
  readonly #unmerged = new Set<TenantId>();
  /** At most one at a time: it gives way to what must be made. */
  #merging: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isStopped = false;

  constructor(parts: MakerParts) {
    this.#parts = parts;
    this.#writer = new SegmentWriter(parts);
    this.#sizes = parts.sizes ?? SIZES;
  }

  /** The tail of this log is worth a segment, whatever the number of its events. */
  hint(tenant: TenantId): void {
    this.#heavy.add(tenant);
  }

  async turn(): Promise<FollowerTurn> {
    if (this.#failure !== undefined) {
      const { error } = this.#failure;
      this.#failure = undefined;
      throw error;
    }
    const behind = [...(await this.#parts.log.behind(this.#sizes.small))];
    for (const { tenant } of behind) this.#heavy.delete(tenant);
    for (const tenant of this.#heavy) behind.push(await this.#behindOf(tenant));
    this.#heavy.clear();
    const setAside: SetAside[] = [];
    const logs: LogLeft[] = [];
    let taken = 0;
    let failure: { readonly error: unknown } | undefined;
    for (const log of behind) {
      try {
        taken += await this.#make(log, setAside);
      } catch (error) {
        // The others do not suffer from it.
        failure ??= { error };
      }
      logs.push(await this.#left(log));
    }
    if (failure !== undefined && taken === 0) throw failure.error;
    // It is told at the next turn: nothing is lost of this one.
    this.#failure ??= failure;
    return { isMore: behind.length > 0, taken, logs, isAll: false, setAside };
  }

  /** What is in a tail that is not too long is found, too. */
  async #left({ tenant, head }: LogBehind): Promise<LogLeft> {
    const segments = (await this.#parts.store.manifest(tenant))?.segments ?? [];
    return { tenant, nextIndex: Math.min(head, endOf(segments) + TAIL_EVENTS_MAX), endIndex: head };
  }

  /**
   * Makes the next segment of a rebuild; after the last one, the new segments replace the old ones. The tail needs no
   * segments.
   */
  async build(tenant: TenantId): Promise<BuildStep> {
    const manifest = await this.#manifestOf(tenant);
    const totalEvents = await this.#parts.log.head(tenant);
    const end = endOf(manifest.segments);
    const building = manifest.building ?? [];
    const from = endOf(building);
    if (from < end) {
      const made = await this.#segmentOf(tenant, from, Math.min(end, from + this.#large), []);
      const next = { ...manifest, building: [...building, made] };
      const isListed = await this.#writer.swap(tenant, manifest, next, made);
      return { processedEvents: isListed ? from + made.docs : from, totalEvents, isDone: false };
    }
    const { building: _, ...rest } = manifest;
    const replaced = [...manifest.replaced, ...this.#writer.replaced(manifest.segments)];
    const next = { ...rest, segments: building, replaced, generation: manifest.generation + 1 };
    const isDone = await this.#writer.swap(tenant, manifest, next);
    if (isDone) this.#merge(tenant);
    return { processedEvents: isDone ? totalEvents : end, totalEvents, isDone };
  }

  /** Why an event that could not be read cannot be read now either; undefined: it is found again. */
  async indexAgain(tenant: TenantId, index: number): Promise<string | undefined> {
    const [logged] = await this.#parts.log.between(tenant, index, index + 1, 1);
    if (logged === undefined) return NO_SUCH_EVENT;
    const fault = addTo(new SegmentBuilder(index, 1), logged, index);
    if (fault !== undefined) return fault;
    const manifest = await this.#parts.store.manifest(tenant);
    const listed = manifest?.segments.find(
      ({ firstIndex, docs }) => index >= firstIndex && index < firstIndex + docs,
    );
    if (manifest === undefined || listed === undefined) return undefined;
    const made = await this.#writer.madeAgain(tenant, listed);
    const isListed = await this.#writer.replace(tenant, [listed], made);
    // It was merged in the meantime.
    return isListed ? undefined : this.indexAgain(tenant, index);
  }

  get #large(): number {
    return this.#sizes.small * this.#sizes.merged;
  }

  /** A segment was found damaged: from it on, all are made again. False where it is not listed. */
  async discard(tenant: TenantId, segment: number): Promise<boolean> {
    const manifest = await this.#parts.store.manifest(tenant);
    const at = manifest?.segments.findIndex(({ id }) => id === segment) ?? -1;
    if (manifest === undefined || at < 0) return false;
    const replaced = [...manifest.replaced, ...this.#writer.replaced(manifest.segments.slice(at))];
    const segments = manifest.segments.slice(0, at);
    return this.#writer.swap(tenant, manifest, { ...manifest, segments, replaced });
  }

  /** Until all is merged. */
  async settle(): Promise<void> {
    await this.#merging;
  }

  /** A merge that runs is given up. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#writer.stop();
    await this.#merging;
  }

  async #behindOf(tenant: TenantId): Promise<LogBehind> {
    return { tenant, head: await this.#parts.log.head(tenant) };
  }

  async #make({ tenant, head }: LogBehind, setAside: SetAside[]): Promise<number> {
    const manifest = await this.#manifestOf(tenant);
    const from = endOf(manifest.segments);
    const pending = head - from;
    if (pending <= 0) return 0;
    const events = [this.#large, this.#sizes.small].find((size) => pending >= size) ?? pending;
    const isOnly = from === 0 && manifest.building === undefined && manifest.replaced.length === 0;
    const removals = isOnly ? await this.#parts.log.removedSince(tenant, manifest.removalsTo ?? 0) : [];
    const made = await this.#segmentOf(tenant, from, from + events, setAside);
    const next = { ...manifest, segments: [...manifest.segments, made] };
    // What was removed before the first segment was made is not in it; those of a rebuild, and those before it, may be older.
    const last = removals.at(-1);
    const known = last === undefined ? next : { ...next, removalsTo: last.noticeIndex + 1 };
    await this.#writer.swap(tenant, manifest, known, made);
    this.#merge(tenant);
    return made.docs;
  }

  /** Without what is not of this log: it was put back since, and has gone on differently. */
  async #manifestOf(tenant: TenantId): Promise<Manifest> {
    const { store, log } = this.#parts;
    const manifest = (await store.manifest(tenant)) ?? FIRST;
    const { building: begun = [], ...listed } = manifest;
    const segments = await ofThisLog(tenant, listed.segments, log);
    const building = await ofThisLog(tenant, begun, log);
    const others = [...listed.segments.slice(segments.length), ...begun.slice(building.length)];
    if (others.length === 0) return manifest;
    const replaced = [...listed.replaced, ...this.#writer.replaced(others)];
    return { ...listed, segments, replaced, ...(building.length > 0 && { building }) };
  }

  /** Of the events from one to before another, or of fewer where they are large. */
  async #segmentOf(
    tenant: TenantId,
    firstIndex: number,
    end: number,
    setAside: SetAside[],
  ): Promise<ListedSegment> {
    const range = { tenant, firstIndex, docs: end - firstIndex };
    const { builder, docs, lastLeaf } = await readPiece(range, this.#writer.source(tenant, setAside));
    // After the events: where one is sealed, there is a key by now.
    const keys = new BlockKeys(...(await this.#parts.log.secrets(tenant)));
    const id = await this.#writer.put(tenant, keys, async ({ take }) => builder.write(take, docs));
    return { id, firstIndex, docs, lastLeaf: Buffer.from(lastLeaf).toString('hex') };
  }

  /** Merges what can be merged, between the segments that are made. */
  #merge(tenant: TenantId): void {
    this.#unmerged.add(tenant);
    if (this.#merging !== undefined) return;
    this.#merging = this.#mergeAll()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#merging = undefined;
      });
  }

  async #mergeAll(): Promise<void> {
    for (const tenant of this.#unmerged) {
      this.#unmerged.delete(tenant);
      for (let isMore = true; isMore && !this.#isStopped; ) isMore = await this.#mergeOnce(tenant);
    }
  }

  async #mergeOnce(tenant: TenantId): Promise<boolean> {
    const { segments } = await this.#manifestOf(tenant);
    const group = mergeable(segments, this.#sizes);
    if (group === undefined) return false;
    try {
      await this.#writer.replace(tenant, group, await this.#merged(tenant, group));
    } catch (error) {
      if (!(error instanceof DamagedSegment)) throw error;
      await this.discard(tenant, error.segment);
    }
    return true;
  }

  async #merged(tenant: TenantId, group: readonly ListedSegment[]): Promise<ListedSegment> {
    const { store, log } = this.#parts;
    const keys = new BlockKeys(...(await log.secrets(tenant)));
    const segments = await Promise.all(group.map((listed) => openUncached(tenant, listed, store, keys)));
    const id = await this.#writer.put(tenant, keys, (output) =>
      mergeSegments(segments, output.take, this.#writer.pausing(output)),
    );
    const docs = group.reduce((sum, each) => sum + each.docs, 0);
    return { id, firstIndex: group[0]!.firstIndex, docs, lastLeaf: group.at(-1)!.lastLeaf };
  }
}

/** Neighbours of a size, the smallest first, with smaller ones between them; undefined where there are not enough. */
function mergeable(
  segments: readonly ListedSegment[],
  { small, merged }: SegmentSizes,
): readonly ListedSegment[] | undefined {
  for (const [size, end] of [
    [0, small],
    [small, small * merged],
    [small * merged, small * merged ** 2],
  ] as const) {
    let [from, count] = [0, 0];
    for (const [at, { docs }] of segments.entries()) {
      if (docs >= end) count = 0;
      else if (docs >= size && ++count === 1) from = at;
      if (count === merged) return segments.slice(from, at + 1);
    }
  }
  return undefined;
}
