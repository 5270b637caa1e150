// Keeps segments true to their log: what was removed there goes here, too, and one after the other is compared with the log, so
// that a change is found though nobody asks.

import type { TenantId } from '@tallystick/contract';
import type { IndexCheck } from '../../../events/event-index.ts';
import { pauseForOthers } from '../../../runtime/pause.ts';
import { areOverlapping } from '../../rows/spans.ts';
import { faultOfSegment } from './compare.ts';
import { endOf, type ListedSegment, type Manifest, ofThisLog } from './manifest.ts';
import { SegmentWriter, type WriterParts } from './segment-writer.ts';

export class Upkeep {
  readonly #parts: WriterParts;
  readonly #writer: SegmentWriter;
  /** Where the round is: whose segments are compared, and up to which index they were. */
  #at: { readonly tenant: TenantId; readonly next: number } | undefined;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#writer = new SegmentWriter(parts);
  }

  /** What is being made is given up. */
  stop(): void {
    this.#writer.stop();
  }

  /** Makes again what holds content that was removed since, and leaves nothing of what was there before. */
  async forget(tenant: TenantId): Promise<void> {
    const { store, log } = this.#parts;
    for (;;) {
      const manifest = await store.manifest(tenant);
      const removals = manifest && (await log.removedSince(tenant, manifest.removalsTo ?? 0));
      const last = removals?.at(-1);
      if (manifest === undefined || last === undefined) return;
      const spans = removals!.flatMap((removal) => removal.spans);
      const made: ListedSegment[] = [];
      const without = async (listed: ListedSegment) => {
        const own = { firstIndex: listed.firstIndex, endIndex: listed.firstIndex + listed.docs };
        if (!spans.some((span) => areOverlapping(span, own))) return listed;
        made.push(await this.#writer.madeAgain(tenant, listed));
        return made.at(-1)!;
      };
      const segments: ListedSegment[] = [];
      for (const listed of manifest.segments) segments.push(await without(listed));
      const building: ListedSegment[] = [];
      for (const listed of manifest.building ?? []) building.push(await without(listed));
      const next = {
        ...manifest,
        segments,
        ...(manifest.building === undefined ? {} : { building }),
        replaced: [],
        removalsTo: last.noticeIndex + 1,
      };
      if (!(await this.#writer.swap(tenant, manifest, next, ...made))) continue;
      const kept = new Set([...segments, ...building].map(({ id }) => id));
      // At once: a search that is reading one of them begins again.
      for (const { id } of [...manifest.segments, ...(manifest.building ?? []), ...manifest.replaced])
        if (!kept.has(id)) await store.remove(tenant, id);
      return;
    }
  }

  /** Compares the next segment, of all that there are in turn. One that differs from the log is made again. */
  async checkNext(pause: () => Promise<void> = pauseForOthers): Promise<IndexCheck> {
    const { store, log } = this.#parts;
    const tenant = this.#at?.tenant ?? (await this.#nextTenant(undefined));
    if (tenant === undefined) return { isRoundDone: true, fault: undefined };
    const manifest = await store.manifest(tenant);
    const used = await ofThisLog(tenant, manifest?.segments ?? [], log);
    const listed = used.find(({ firstIndex }) => firstIndex >= (this.#at?.next ?? 0));
    if (manifest === undefined || listed === undefined) {
      const next = await this.#nextTenant(tenant);
      return { isRoundDone: next === undefined, fault: undefined };
    }
    this.#at = { tenant, next: endOf([listed]) };
    const removals = await log.removedSince(tenant, manifest.removalsTo ?? 0);
    const removed = removals.flatMap(({ spans }) => spans);
    const fault = await faultOfSegment(tenant, listed, { store, log, removed, pause });
    if (fault === undefined || !(await this.#isStillListed(tenant, listed)))
      return { isRoundDone: false, fault: undefined };
    await this.#makeAgain(tenant, listed);
    return { isRoundDone: false, fault: { tenant, ...fault } };
  }

  /** What a killed one has left of its segments goes, and what was replaced long ago. */
  async #nextTenant(after: TenantId | undefined): Promise<TenantId | undefined> {
    const { store } = this.#parts;
    const tenant = await store.nextTenant(after);
    this.#at = tenant === undefined ? undefined : { tenant, next: 0 };
    const manifest = tenant === undefined ? undefined : await store.manifest(tenant);
    if (tenant === undefined) return undefined;
    const { segments = [], building = [], replaced = [] } = manifest ?? {};
    if (manifest !== undefined && replaced.length > 0) await this.#writer.swap(tenant, manifest, manifest);
    await store.sweep(
      tenant,
      [...segments, ...building, ...replaced].map(({ id }) => id),
    );
    return tenant;
  }

  /** One that was replaced while it was compared may be gone. */
  async #isStillListed(tenant: TenantId, { id }: ListedSegment): Promise<boolean> {
    const manifest = await this.#parts.store.manifest(tenant);
    return manifest?.segments.some((listed) => listed.id === id) ?? false;
  }

  async #makeAgain(tenant: TenantId, listed: ListedSegment): Promise<void> {
    const made = await this.#writer.madeAgain(tenant, listed);
    const manifest = await this.#parts.store.manifest(tenant);
    const place = manifest?.segments.findIndex(({ id }) => id === listed.id) ?? -1;
    if (manifest === undefined || place < 0) return this.#parts.store.remove(tenant, made.id);
    const next: Manifest = {
      ...manifest,
      segments: manifest.segments.with(place, made),
      replaced: [...manifest.replaced, ...this.#writer.replaced([listed])],
    };
    // If somebody else was first, it is found again in the next round.
    await this.#writer.swap(tenant, manifest, next, made);
  }
}
