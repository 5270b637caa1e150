// Keeps segments true to their log: what was removed there goes here, too, and one after the other is compared with the log, so
// that a change is found though nobody asks.

import type { TenantId } from '@tallystick/contract';
import type { IndexCheck } from '../../../events/event-index.ts';
import { pauseForOthers } from '../../../runtime/pause.ts';
import { BlockKeys, isUnderFormerKey } from './block-codec.ts';
import { areOf, faultOfSegment, removedSince } from './compare.ts';
import { endOf, FIRST, type ListedSegment, type Manifest, ofThisLog } from './manifest.ts';
import { FOOTER_BLOCK } from '../segments/segment-format.ts';
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

  /**
   * Makes again what holds content that was removed up to now, and what is under a key that takes no new content any more; leaves
   * nothing of what was there before. What is removed meanwhile may be in a segment that was made before its notice, so it stays for
   * the next time.
   */
  async forget(tenant: TenantId): Promise<void> {
    const { store, log } = this.#parts;
    const before = await store.manifest(tenant);
    const removals = await log.removedSince(tenant, before?.removalsTo ?? 0);
    const former = await this.#underFormerKeys(tenant, before);
    const removedTo = (removals.at(-1)?.noticeIndex ?? -1) + 1;
    if (removals.length === 0 && former.size === 0) return;
    const made = new Set<number>();
    for (;;) {
      const manifest = (await store.manifest(tenant)) ?? FIRST;
      const holding = [...manifest.segments, ...(manifest.building ?? [])].find(
        (listed) =>
          !made.has(listed.id) &&
          (former.has(listed.id) || removals.some((removal) => areOf(removal.spans, listed))),
      );
      if (holding !== undefined) {
        const again = await this.#writer.madeAgain(tenant, holding);
        made.add(again.id);
        await this.#writer.replace(tenant, [holding], again);
        continue;
      }
      // At once, not after some minutes: a search that is reading one of them begins again.
      const replaced = manifest.replaced.map(({ id }) => ({ id, sinceMs: 0 }));
      const removalsTo = Math.max(manifest.removalsTo ?? 0, removedTo);
      const next = { ...manifest, replaced, removalsTo };
      if (await this.#writer.swap(tenant, manifest, next)) return;
    }
  }

  /** The segments whose first block says so. */
  async #underFormerKeys(tenant: TenantId, manifest: Manifest | undefined): Promise<ReadonlySet<number>> {
    const { store, log } = this.#parts;
    const ids = [...(manifest?.segments ?? []), ...(manifest?.building ?? [])].map(({ id }) => id);
    if (ids.length === 0) return new Set();
    const keys = new BlockKeys(...(await log.secrets(tenant)));
    const block = FOOTER_BLOCK;
    const footers = await store.get(
      tenant,
      ids.map((segment) => ({ segment, block })),
    );
    return new Set(
      ids.filter((segment, i) => {
        const place = { tenant, segment, block, section: undefined };
        return footers[i] !== undefined && isUnderFormerKey(footers[i], place, keys);
      }),
    );
  }

  /** Compares the next segment, of all that there are in turn. One that differs from the log is made again. */
  async checkNext(pause: () => Promise<void> = pauseForOthers): Promise<IndexCheck> {
    const { store, log } = this.#parts;
    const found = await this.#nextSegment();
    if (found === undefined) return { isRoundDone: true, fault: undefined };
    const { tenant, manifest, listed } = found;
    this.#at = { tenant, next: endOf([listed]) };
    const isOutdated = async () => areOf(await removedSince(tenant, manifest, log), listed);
    // Nobody has done that since something was removed.
    if (await isOutdated()) await this.forget(tenant);
    const fault = await faultOfSegment(tenant, listed, { store, log, pause });
    const isReplaced = async () => (await isOutdated()) || !(await this.#isStillListed(tenant, listed));
    if (fault === undefined || (await isReplaced())) return { isRoundDone: false, fault: undefined };
    await this.#writer.replace(tenant, [listed], await this.#writer.madeAgain(tenant, listed));
    return { isRoundDone: false, fault: { tenant, ...fault } };
  }

  /** Undefined behind the last of the last tenant: then a round begins again. */
  async #nextSegment(): Promise<
    { readonly tenant: TenantId; readonly manifest: Manifest; readonly listed: ListedSegment } | undefined
  > {
    const { store, log } = this.#parts;
    for (let tenant = this.#at?.tenant ?? (await this.#nextTenant(undefined)); tenant !== undefined; ) {
      const manifest = await store.manifest(tenant);
      const used = await ofThisLog(tenant, manifest?.segments ?? [], log);
      const listed = used.find(({ firstIndex }) => firstIndex >= (this.#at?.next ?? 0));
      if (manifest !== undefined && listed !== undefined) return { tenant, manifest, listed };
      tenant = await this.#nextTenant(tenant);
    }
    return undefined;
  }

  /** Removes blocks that a killed maker has left, and segments that were replaced some time ago. */
  async #nextTenant(after: TenantId | undefined): Promise<TenantId | undefined> {
    const { store } = this.#parts;
    const tenant = await store.nextTenant(after);
    this.#at = tenant === undefined ? undefined : { tenant, next: 0 };
    if (tenant === undefined) return undefined;
    const manifest = await store.manifest(tenant);
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
}
