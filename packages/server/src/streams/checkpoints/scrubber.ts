// Recomputes all stored entries and values, slowly and repeatedly, to find changes and disk damage before a reader
// does. Content that notices have deleted is searched for, too: somebody may have put it back. A round takes a day or longer; after a small store it rests until the day is over.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { Signing } from '../../keys/signing.ts';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import type { Random } from '../../runtime/random.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { RangeVerdict, TreeReader, TreesWith } from '../tree.ts';

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
  /** How long a notice may be there before its effect. */
  readonly removalMs: number;
}

export interface Scrubber extends AsyncDisposable {
  start(): void;
  /** The number of logs that are damaged, or have content that was to be deleted, in the last whole round, or in the current one. */
  figures(): { readonly damagedLogs: number };
}

const HOUR_MS = 3_600_000;
const LIMITS: ScrubLimits = { eventsMax: 1000, paceMs: 5000, roundMs: 24 * HOUR_MS, removalMs: HOUR_MS };
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
  const { eventsMax, paceMs, roundMs, removalMs } = { ...LIMITS, ...limits };
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
    const deletedBeforeMs = clock.now() - removalMs;
    const request = { fromIndex, endIndex, publicKeys: signing.publicKeys(), deletedBeforeMs };
    const { fault, checkedEvents, undeleted } = await trees
      .forTenant(log.tenant)
      .checkRange(request, () => {});
    // If nothing is there at all, the log has a wrong end, and the others would never get their turn.
    const isEmpty = checkedEvents === 0 && fault?.reason === 'TRUNCATED';
    [tenant, index] = [log.tenant, isEmpty ? log.endIndex : endIndex];
    if (fault === undefined && undeleted === undefined) return;
    if (!damaged.has(log.tenant)) report(telemetry, log.tenant, { fault, undeleted });
    damaged.add(log.tenant);
  };

  let loop: Loop | undefined;
  return {
    start() {
      loop ??= startLoop({
        clock,
        random,
        paceMs,
        // The start has more urgent work, and on the embedded store the check needs a thread of its own.
        firstMs: paceMs,
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

interface Found {
  readonly fault: RangeVerdict['fault'] | undefined;
  readonly undeleted: number | undefined;
}

function report(telemetry: Pick<Telemetry, 'error'>, tenant: TenantId, { fault, undeleted }: Found): void {
  if (fault !== undefined) {
    const facts = { tenant, index: fault.index, reason: fault.reason };
    telemetry.error('the store differs from what was accepted', new Error(fault.message), facts);
    return;
  }
  const error = new Error(`the content of event ${undeleted} is there, and a signed notice deletes it`);
  const said = 'content is stored that was to be deleted: its removal failed, or it was put back';
  telemetry.error(said, error, { tenant, index: undeleted });
}
