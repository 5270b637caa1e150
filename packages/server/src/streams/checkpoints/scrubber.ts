// Recomputes all stored entries and values, slowly and repeatedly, to find changes and disk damage before a reader
// does. A round takes a day or longer; after a small store it rests until the day is over.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { Signing } from '../../keys/signing.ts';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import type { Random } from '../../runtime/random.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { TreeReader, TreesWith } from '../tree.ts';

export interface ScrubberOptions {
  readonly trees: Pick<TreeReader, 'nextLog'> & TreesWith<'checkRange'>;
  readonly signing: Pick<Signing, 'publicKeys'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly limits?: Partial<ScrubLimits>;
}

export interface ScrubLimits {
  /** The number of events per turn: a few tens of milliseconds of one thread. */
  readonly eventsMax: number;
  readonly paceMs: number;
  readonly roundMs: number;
}

export interface Scrubber extends AsyncDisposable {
  start(): void;
  /** The number of damaged logs in the last whole round, or in the current one. */
  figures(): { readonly damagedLogs: number };
}

const LIMITS: ScrubLimits = { eventsMax: 1000, paceMs: 5000, roundMs: 24 * 3_600_000 };
const BACK_OFF_MS = 10_000;
const BACK_OFF_MS_MAX = 10 * 60_000;

export function createScrubber({
  trees,
  signing,
  clock,
  random,
  telemetry,
  limits = {},
}: ScrubberOptions): Scrubber {
  const { eventsMax, paceMs, roundMs } = { ...LIMITS, ...limits };
  // Damage stays reported until a whole round has not found it.
  let damagedBefore: ReadonlySet<TenantId> = new Set();
  let damaged = new Set<TenantId>();
  let roundBeganMs = clock.now();
  let tenant: TenantId | undefined;
  let index = 0;
  let isResting = false;

  const turn = async (): Promise<void> => {
    if (isResting) {
      // A clock that was put back must not make the pause longer than a round.
      const restedMs = clock.now() - roundBeganMs;
      if (restedMs >= 0 && restedMs < roundMs) return;
      isResting = false;
      roundBeganMs = clock.now();
    }
    const log = await trees.nextLog(tenant, index);
    if (log === undefined) {
      [tenant, index, isResting] = [undefined, 0, true];
      [damagedBefore, damaged] = [damaged, new Set()];
      return;
    }
    const fromIndex = log.tenant === tenant ? index : 0;
    const endIndex = Math.min(log.endIndex, fromIndex + eventsMax);
    const { fault, checkedEvents } = await trees
      .forTenant(log.tenant)
      .checkRange({ fromIndex, endIndex, publicKeys: signing.publicKeys() }, () => {});
    // If nothing is there at all, the log has a wrong end, and the others would never get their turn.
    const isEmpty = checkedEvents === 0 && fault?.reason === 'TRUNCATED';
    [tenant, index] = [log.tenant, isEmpty ? log.endIndex : endIndex];
    if (fault === undefined) return;
    if (!damaged.has(log.tenant)) {
      const facts = { tenant: log.tenant, index: fault.index, reason: fault.reason };
      telemetry.error('the store differs from what was accepted', new Error(fault.message), facts);
    }
    damaged.add(log.tenant);
  };

  let loop: Loop | undefined;
  return {
    start() {
      loop ??= startLoop({
        clock,
        random,
        paceMs,
        backOffMs: BACK_OFF_MS,
        backOffMsMax: BACK_OFF_MS_MAX,
        turn,
        onFailure: ({ error }) =>
          telemetry.warn('stored data could not be checked', { cause: String(error) }),
        onBroken: (error) => telemetry.error('the scrubber has stopped', error),
      });
    },
    figures: () => ({ damagedLogs: damaged.union(damagedBefore).size }),
    [Symbol.asyncDispose]: async () => loop?.[Symbol.asyncDispose](),
  };
}
