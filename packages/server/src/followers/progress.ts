// How far a follower is behind the logs, by its own turns: of each log that it found behind, since when, and how many entries are
// left. A log that it has taken up to where it ended when it was seen first is no longer behind since then. Only logs that are
// behind are held, and a limited number of them. Nobody knows how far a turn that hangs or fails would have come, so it counts as behind.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import type { FollowerTurn } from './follower-work.ts';

export interface Progress {
  /**
   * For how long the oldest entry that it has not taken has waited, as far as it was seen, or since when its turn has lasted or its
   * turns have failed, whichever is longer; 0: it has taken all.
   */
  readonly lagMs: number;
  readonly pendingEvents: number;
  /** How long the turn under way has taken so far; 0 between turns. */
  readonly turnMs: number;
  /** For how long it has taken nothing of the log that has waited longest, or has failed; 0: it has taken all. */
  readonly stillMs: number;
  /** The log that has waited longest, for the diagnostics. */
  readonly worst: TenantId | undefined;
}

interface Mark {
  /** Where the log ended then. */
  readonly endIndex: number;
  readonly sinceNs: number;
  readonly nextIndex: number;
  readonly movedNs: number;
  readonly pendingEvents: number;
  readonly seenNs: number;
}

const MARKS_MAX = 10_000;
/** Where logs are too many for a turn, one that is behind is seen again within this time. */
const UNSEEN_NS = 120e9;

export class FollowerProgress {
  readonly #clock: Pick<Clock, 'monotonicNs'>;
  readonly #marks = new Map<TenantId, Mark>();
  #turnSinceNs: number | undefined;
  /** When the first of the turns began that have failed since one succeeded. */
  #failingSinceNs: number | undefined;

  constructor(clock: Pick<Clock, 'monotonicNs'>) {
    this.#clock = clock;
  }

  turnBegins(): void {
    this.#turnSinceNs = this.#clock.monotonicNs();
  }

  turnFailed(): void {
    this.#failingSinceNs ??= this.#turnSinceNs;
    this.#turnSinceNs = undefined;
  }

  turnEnded({ logs, isAll }: Pick<FollowerTurn, 'logs' | 'isAll'>): void {
    const seenNs = this.#clock.monotonicNs();
    const beganNs = this.#turnSinceNs ?? seenNs;
    this.#turnSinceNs = undefined;
    this.#failingSinceNs = undefined;
    for (const { tenant, nextIndex, endIndex } of logs) {
      const mark = this.#marks.get(tenant);
      const pendingEvents = endIndex - nextIndex;
      if (pendingEvents <= 0) {
        this.#marks.delete(tenant);
        continue;
      }
      if (mark === undefined && this.#marks.size >= MARKS_MAX) continue;
      const movedNs = mark !== undefined && mark.nextIndex === nextIndex ? mark.movedNs : beganNs;
      const behind = mark !== undefined && nextIndex < mark.endIndex ? mark : { endIndex, sinceNs: beganNs };
      this.#marks.set(tenant, { ...behind, nextIndex, movedNs, pendingEvents, seenNs });
    }
    const seen = isAll ? new Set(logs.map(({ tenant }) => tenant)) : undefined;
    for (const [tenant, mark] of this.#marks)
      if (seen === undefined ? seenNs - mark.seenNs > UNSEEN_NS : !seen.has(tenant))
        this.#marks.delete(tenant);
  }

  now(): Progress {
    const nowNs = this.#clock.monotonicNs();
    const msSince = (ns: number | undefined) => (ns === undefined ? 0 : Math.floor((nowNs - ns) / 1e6));
    let pendingEvents = 0;
    let worst: (Mark & { readonly tenant: TenantId }) | undefined;
    for (const [tenant, mark] of this.#marks) {
      pendingEvents += mark.pendingEvents;
      if (worst === undefined || mark.sinceNs < worst.sinceNs) worst = { ...mark, tenant };
    }
    const turnMs = msSince(this.#turnSinceNs);
    const failingMs = msSince(this.#failingSinceNs);
    return {
      lagMs: Math.max(msSince(worst?.sinceNs), turnMs, failingMs),
      pendingEvents,
      turnMs,
      stillMs: Math.max(msSince(worst?.movedNs), failingMs),
      worst: worst?.tenant,
    };
  }
}
