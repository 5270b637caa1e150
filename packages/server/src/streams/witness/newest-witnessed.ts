// The newest checkpoint of a log that enough witnesses have cosigned. Events that it covers are `Witnessed`, and are proven
// under it, however many checkpoints have come since: a witness that is away takes nothing from what it has seen.
//
// This process remembers it, because it is told of each cosignature that it has asked for. Only for a log of which nothing is
// known, as after a start, it searches the store, newest first and with a limit. Where other nodes ask witnesses too, it
// searches again once in a while, down to the size that it knows.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { CosignedCheckpoint, LogHead, LogSize, TreeReader } from '../tree.ts';
import type { Witnessed } from './witnessed.ts';

export interface NewestWitnessed {
  /** The size of the newest one; 0 where there is none. */
  sizeOf(tenant: TenantId, head: LogHead): Promise<number>;
  /** Known sizes of the tenant's logs; asks nobody. */
  known(tenant: TenantId): readonly LogSize[];
  /** The note is stored now. */
  cosigned(checkpoint: CosignedCheckpoint): void;
}

export interface NewestWitnessedParts {
  readonly witnessed: Pick<Witnessed, 'isWitnessed'>;
  readonly trees: Pick<TreeReader, 'cosigned'>;
  readonly limits?: Partial<LookBackLimits>;
  /** Undefined: nobody else asks witnesses. */
  readonly others?: { readonly areThere: () => boolean; readonly clock: Pick<Clock, 'monotonicNs'> };
}

export interface LookBackLimits {
  /** Checkpoints: more than a day of one a second. Of a log that no witness has known for longer, too little is said. */
  readonly checkpointsMax: number;
  /** So many are looked at before other reads have their turn. */
  readonly portion: number;
  readonly tenantsMax: number;
}

/** For so long what another node has been told may not be known here. */
const OLD_MS = 2000;
const LIMITS: LookBackLimits = { checkpointsMax: 100_000, portion: 1000, tenantsMax: 10_000 };

export function createNewestWitnessed(parts: NewestWitnessedParts): NewestWitnessed {
  return new RememberedWitnessed(parts);
}

/** Without witnesses there is nothing to remember. */
export const NOBODY_WITNESSES: NewestWitnessed = {
  sizeOf: async () => 0,
  known: () => [],
  cosigned() {},
};

class RememberedWitnessed implements NewestWitnessed {
  readonly #parts: NewestWitnessedParts;
  readonly #limits: LookBackLimits;
  /** By tenant, by epoch. The tenant that was asked for least recently stands first. */
  readonly #sizes = new Map<TenantId, Map<number, number>>();
  readonly #looking = new Map<string, Promise<number>>();
  /** By origin, when the store was last looked through; only where others are. */
  readonly #lookedNs = new Map<string, number>();

  constructor(parts: NewestWitnessedParts) {
    this.#parts = parts;
    this.#limits = { ...LIMITS, ...parts.limits };
  }

  async sizeOf(tenant: TenantId, { origin, epoch, latest }: LogHead): Promise<number> {
    if (latest === undefined) return 0;
    if (this.#parts.witnessed.isWitnessed(latest.note)) return this.#remember(tenant, epoch, latest.size);
    const known = this.#sizes.get(tenant)?.get(epoch);
    if (known !== undefined && !this.#isOld(origin)) return this.#remember(tenant, epoch, known);
    const looking =
      this.#looking.get(origin) ?? this.#look(tenant, { epoch, size: latest.size }, origin, known ?? 0);
    this.#looking.set(origin, looking);
    return looking;
  }

  known(tenant: TenantId): readonly LogSize[] {
    return Array.from(this.#sizes.get(tenant) ?? [], ([epoch, size]) => ({ epoch, size }));
  }

  cosigned({ tenant, epoch, size, note }: CosignedCheckpoint): void {
    if (this.#parts.witnessed.isWitnessed(note)) this.#remember(tenant, epoch, size);
  }

  /** Gives the largest that is known. */
  #remember(tenant: TenantId, epoch: number, size: number): number {
    const sizes = this.#sizes.get(tenant) ?? new Map<number, number>();
    const largest = Math.max(size, sizes.get(epoch) ?? 0);
    sizes.set(epoch, largest);
    this.#sizes.delete(tenant);
    this.#sizes.set(tenant, sizes);
    if (this.#sizes.size > this.#limits.tenantsMax) this.#sizes.delete(this.#sizes.keys().next().value!);
    return largest;
  }

  #isOld(origin: string): boolean {
    const { others } = this.#parts;
    if (others === undefined || !others.areThere()) return false;
    const lookedNs = this.#lookedNs.get(origin) ?? Number.NEGATIVE_INFINITY;
    return others.clock.monotonicNs() - lookedNs > OLD_MS * 1e6;
  }

  async #look(tenant: TenantId, below: LogSize, origin: string, known: number): Promise<number> {
    const { others } = this.#parts;
    if (this.#lookedNs.size > this.#limits.tenantsMax) this.#lookedNs.clear();
    if (others !== undefined) this.#lookedNs.set(origin, others.clock.monotonicNs());
    try {
      return this.#remember(tenant, below.epoch, await this.#newestBelow(tenant, below, known));
    } finally {
      this.#looking.delete(origin);
    }
  }

  async #newestBelow(tenant: TenantId, { epoch, size }: LogSize, known: number): Promise<number> {
    const { portion, checkpointsMax } = this.#limits;
    let below = size;
    for (let looked = 0; looked < checkpointsMax && below > known; looked += portion) {
      const { cosigned, lookedTo } = await this.#parts.trees.cosigned(
        tenant,
        { epoch, size: below },
        portion,
      );
      const newest = cosigned.find(({ note }) => this.#parts.witnessed.isWitnessed(note));
      if (newest !== undefined) return newest.size;
      if (lookedTo === undefined) return 0;
      below = lookedTo;
    }
    return 0;
  }
}
