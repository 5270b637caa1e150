// Ranges that are recomputed on request: a long one in steps, so that several run side by side. And what the removal of expired
// content reads back.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { Calls, OfAny } from '../../../runtime/calls.ts';
import type { RangeVerdict, TenantRange, TenantTrees } from '../../../streams/tree.ts';
import type {
  ContentsPortion,
  ContentsRequest,
  NoticesPortion,
  NoticesRequest,
} from '../../../streams/removal/proven.ts';
import { WalkResources } from '../../fsck/entries.ts';
import { trustedOf } from '../../fsck/notes.ts';
import { OF_EACH, provenContents } from '../../fsck/proven-contents.ts';
import { recordNotices } from '../../fsck/record-notices.ts';
import { runSync } from '../../resumable.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import { checkRange, rangeStores } from '../fsck/range.ts';

/** The progress of a range; includes the verdict at its end. */
interface RangeStep {
  readonly checkedEvents: number;
  readonly verdict?: RangeVerdict;
}

/** Those under way, by number; and what is read back at once. */
export class RangeChecks {
  readonly #db: DatabaseSync;
  readonly #logOrigin: string;
  readonly #resources = new WalkResources(OF_EACH);
  #stores: ReturnType<typeof rangeStores> | undefined;
  readonly #ranges = new Map<number, ReturnType<typeof checkRange>>();
  #lastNumber = 0;

  readonly #sealed: SealedRows | undefined;

  constructor(db: DatabaseSync, logOrigin: string, sealed?: SealedRows) {
    this.#sealed = sealed;
    this.#db = db;
    this.#logOrigin = logOrigin;
  }

  provenContents(tenant: TenantId, request: ContentsRequest): ContentsPortion {
    return runSync(provenContents(this.#storeOf(tenant), request, this.#resources));
  }

  recordNotices(tenant: TenantId, request: NoticesRequest): NoticesPortion {
    return runSync(recordNotices(this.#storeOf(tenant), request, this.#resources));
  }

  #storeOf(tenant: TenantId): ReturnType<ReturnType<typeof rangeStores>> {
    return (this.#stores ??= rangeStores(this.#db, this.#logOrigin, this.#sealed))(tenant);
  }

  begin(request: TenantRange): number {
    const steps = checkRange(this.#db, this.#logOrigin, request, trustedOf(request), this.#sealed);
    this.#ranges.set(++this.#lastNumber, steps);
    return this.#lastNumber;
  }

  step(number: number): RangeStep {
    const range = this.#ranges.get(number)!;
    // A range that ends or fails in this step is not kept.
    this.#ranges.delete(number);
    const next = range.next();
    if (next.done === true) return { checkedEvents: next.value.checkedEvents, verdict: next.value };
    this.#ranges.set(number, range);
    return { checkedEvents: next.value };
  }

  /** Forgets a range that nobody continues. */
  end(number: number): void {
    this.#ranges.delete(number);
  }
}

type TreesOfAny = OfAny<TenantTrees, TenantId>;

/** What the port of trees has of it. */
export type RangeReads = Pick<TreesOfAny, 'checkRange' | 'provenContents' | 'recordNotices'>;

/** `start` returns the checks to use for one range. */
export function rangesBy(start: () => Promise<Calls<RangeChecks>>): RangeReads {
  return {
    checkRange: checksBy(start),
    provenContents: async (tenant, request) => (await start()).provenContents(tenant, request),
    recordNotices: async (tenant, request) => (await start()).recordNotices(tenant, request),
  };
}

export function checksBy(
  start: () => Promise<Pick<Calls<RangeChecks>, 'begin' | 'step' | 'end'>>,
): TreesOfAny['checkRange'] {
  return async (tenant, request, onProgress) => {
    const ranges = await start();
    const number = await ranges.begin({ ...request, tenant });
    try {
      for (;;) {
        const { checkedEvents, verdict } = await ranges.step(number);
        if (verdict !== undefined) return verdict;
        onProgress(checkedEvents);
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      await ranges.end(number);
    }
  };
}
