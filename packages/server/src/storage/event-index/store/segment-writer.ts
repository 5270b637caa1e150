// Puts segments into the store and lists them. Blocks are there before a manifest lists them, and go some time after it does
// not: one who is killed in between leaves nothing that is read.

import type { TenantId } from '@tallystick/contract';
import type { SetAside } from '../../../followers/follower-work.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { pauseForOthers } from '../../../runtime/pause.ts';
import type { Random } from '../../../runtime/random.ts';
import type { Footer } from '../segments/segment-format.ts';
import { BlockKeys } from './block-codec.ts';
import { makeSegment, type SegmentSource } from './make-segment.ts';
import type { ListedSegment, Manifest } from './manifest.ts';
import { SegmentOutput } from './segment-output.ts';
import type { IndexedLog, SegmentStore } from './segment-store.ts';

/** Longer than any search. */
const REPLACED_MS = 600_000;
/** So long it keeps others waiting. */
const MAKING_NS_MAX = 5e6;

export interface WriterParts {
  readonly store: SegmentStore;
  readonly log: IndexedLog;
  readonly clock: Pick<Clock, 'now' | 'monotonicNs'>;
  readonly random: Random;
  /** Told of an event that cannot be read, before the segment without it is listed. */
  readonly onUnread: (tenant: TenantId, index: number, reason: string) => Promise<void> | void;
}

export class SegmentWriter {
  readonly #parts: WriterParts;
  #isStopped = false;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** What is being made is given up. */
  stop(): void {
    this.#isStopped = true;
  }

  source(tenant: TenantId, setAside: SetAside[]): SegmentSource {
    const { log, onUnread } = this.#parts;
    return {
      log,
      async onUnread(index, reason) {
        await onUnread(tenant, index, reason);
        setAside.push({ tenantId: tenant, sequence: index + 1, reason });
      },
    };
  }

  /** The same events as they are in the log now. */
  async madeAgain(tenant: TenantId, listed: ListedSegment): Promise<ListedSegment> {
    const keys = new BlockKeys(...(await this.#parts.log.secrets(tenant)));
    const id = await this.put(tenant, keys, (output) =>
      makeSegment({ tenant, ...listed }, this.source(tenant, []), output.take, {
        pause: this.pausing(output),
      }),
    );
    return { ...listed, id };
  }

  /** The number of a segment that is in the store; nothing of it is left there if it could not be made. */
  async put(
    tenant: TenantId,
    keys: BlockKeys,
    write: (output: SegmentOutput) => Promise<Footer>,
  ): Promise<number> {
    const { store, random } = this.#parts;
    const output = new SegmentOutput(tenant, await store.newSegment(), { store, keys, random });
    try {
      await output.end(await write(output));
    } catch (error) {
      try {
        await store.remove(tenant, output.id);
      } catch {
        // Then it is removed with others that no manifest lists.
      }
      throw error;
    }
    return output.id;
  }

  /** Lets others have their turn, and ends what is told to stop. */
  pausing(output: SegmentOutput): () => Promise<void> {
    const { clock } = this.#parts;
    let pausedNs = clock.monotonicNs();
    return async () => {
      if (this.#isStopped) throw new Error('the segment was given up');
      if (output.isFull) await output.flush();
      if (clock.monotonicNs() - pausedNs < MAKING_NS_MAX) return;
      await pauseForOthers();
      pausedNs = clock.monotonicNs();
    };
  }

  /** How a manifest lists what others have taken the place of. */
  replaced(segments: readonly ListedSegment[]): Manifest['replaced'] {
    const sinceMs = this.#parts.clock.now();
    return segments.map(({ id }) => ({ id, sinceMs }));
  }

  /**
   * Lists a segment in the place of some neighbours, whatever else has been listed since. False where these are not listed any
   * more: then it is removed.
   */
  async replace(tenant: TenantId, old: readonly ListedSegment[], made: ListedSegment): Promise<boolean> {
    const { store } = this.#parts;
    for (;;) {
      const manifest = await store.manifest(tenant);
      const next = manifest && withInPlaceOf(manifest, old, made);
      if (manifest === undefined || next === undefined) {
        await store.remove(tenant, made.id);
        return false;
      }
      const replaced = [...manifest.replaced, ...this.replaced(old)];
      if (await this.swap(tenant, manifest, { ...next, replaced })) return true;
    }
  }

  /**
   * Blocks of what was replaced long ago go before it is taken off the list, so that none are left that nobody knows of. False
   * where somebody else was first: what was made for it is removed.
   */
  async swap(
    tenant: TenantId,
    { version }: Manifest,
    next: Manifest,
    ...made: readonly ListedSegment[]
  ): Promise<boolean> {
    const { store, clock } = this.#parts;
    const nowMs = clock.now();
    const isOld = ({ sinceMs }: { readonly sinceMs: number }) => nowMs - sinceMs >= REPLACED_MS;
    for (const { id } of next.replaced.filter(isOld)) await store.remove(tenant, id);
    const replaced = next.replaced.filter((each) => !isOld(each));
    const isSwapped = await store.swap(tenant, version, { ...next, replaced, version: version + 1 });
    if (!isSwapped) for (const { id } of made) await store.remove(tenant, id);
    return isSwapped;
  }
}

function withInPlaceOf(
  manifest: Manifest,
  old: readonly ListedSegment[],
  made: ListedSegment,
): Manifest | undefined {
  for (const list of ['segments', 'building'] as const) {
    const listed = manifest[list] ?? [];
    const at = listed.findIndex(({ id }) => id === old[0]!.id);
    if (at >= 0 && old.every(({ id }, i) => listed[at + i]?.id === id))
      return { ...manifest, [list]: listed.toSpliced(at, old.length, made) };
  }
  return undefined;
}
