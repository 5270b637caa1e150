// Goes through all that is stored, again and again and slowly, and recomputes values and entries: what was changed, or
// what a disk has lost, is found before somebody asks for it. A round takes a day or longer; a store that is smaller is
// gone through more quickly, and then left alone until the day is over.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { Signing } from '../../keys/signing.ts';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import type { Random } from '../../runtime/random.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { TreeReader } from '../tree.ts';

export interface ScrubberOptions {
  readonly trees: Pick<TreeReader, 'checkRange' | 'nextLog'>;
  readonly signing: Pick<Signing, 'publicKeys'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly limits?: Partial<ScrubLimits>;
}

export interface ScrubLimits {
  /** So many events are checked in a turn: a few tens of milliseconds of one thread. */
  readonly eventsMax: number;
  readonly paceMs: number;
  readonly roundMs: number;
}

export interface Scrubber extends AsyncDisposable {
  start(): void;
  /** How many logs the last whole round, or the one under way, has found damaged. */
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
  // What is known to be damaged stays known until a whole round has not found it.
  let damagedBefore: ReadonlySet<TenantId> = new Set();
  let damaged = new Set<TenantId>();
  let roundBeganMs = clock.now();
  let tenant: TenantId | undefined;
  let index = 0;
  let isResting = false;

  const turn = async (): Promise<void> => {
    if (isResting) {
      // A clock that was put back must not make the rest longer than a round.
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
    const { fault, checkedEvents } = await trees.checkRange(
      { tenant: log.tenant, fromIndex, endIndex, publicKeys: signing.publicKeys() },
      () => {},
    );
    // Where nothing is there at all, the log lies about its end, and the others would never have their turn.
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
          telemetry.warn('what is stored could not be checked', { cause: String(error) }),
        onBroken: (error) => telemetry.error('the scrubber has ended', error),
      });
    },
    figures: () => ({ damagedLogs: damaged.union(damagedBefore).size }),
    [Symbol.asyncDispose]: async () => loop?.[Symbol.asyncDispose](),
  };
}
