// How fast this node delivers: its share of 100 a second to each subscription, and to each origin within a tenant; and how many deliveries
// to a subscription may be under way at once. That number starts small, also after an outage, and grows with each success, so a consumer
// that hangs holds a few connections, not all of them.

import { LIMITS, type TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import type { LaneLimit } from '../work/lanes.ts';

export const WINDOW_MIN = 2;
export const WINDOW_MAX = 20;
/** A turn that is further away is not reserved: reserved turns that nobody uses would delay all that come later. */
export const TURN_MS_MAX = 1000;
/** Timers fire late; turns lost within this time are made up for. */
const LATE_NS = 20e6;
const IDLE_NS = 60e9;
const KEPT_MAX = 50_000;

export interface PaceParts {
  readonly clock: Pick<Clock, 'monotonicNs'>;
  /** How many nodes serve, this one included. */
  readonly nodes: () => number;
}

interface LaneState {
  readonly tenant: TenantId;
  readonly lane: string;
  underWay: number;
  window: number;
  usedNs: number;
}

export class Pace {
  readonly #parts: PaceParts;
  readonly #lanes = new Map<string, LaneState>();
  /** By lane and by origin: when the next one may go. */
  readonly #nextNs = new Map<string, number>();

  constructor(parts: PaceParts) {
    this.#parts = parts;
  }

  /** How long this delivery must wait for its turn, in milliseconds. Up to `TURN_MS_MAX` this also reserves the turn. */
  turnMs(tenant: TenantId, lane: string, origin: string): number {
    const nowNs = this.#parts.clock.monotonicNs();
    // With those that are made up for, no second has more of them than it may.
    const stepNs = ((1e9 + LATE_NS) * Math.max(1, this.#parts.nodes())) / (LIMITS.deliveriesPerSecondMax - 1);
    const keys = [`${tenant}\nlane ${lane}`, `${tenant}\norigin ${origin}`];
    const atNs = Math.max(nowNs - LATE_NS, ...keys.map((key) => this.#nextNs.get(key) ?? 0));
    if (this.#nextNs.size > KEPT_MAX) this.#forget(nowNs);
    const turnMs = Math.max(0, (atNs - nowNs) / 1e6);
    if (turnMs <= TURN_MS_MAX) for (const key of keys) this.#nextNs.set(key, atNs + stepNs);
    return turnMs;
  }

  begin(tenant: TenantId, lane: string): void {
    const state = this.#stateOf(tenant, lane);
    state.underWay++;
    state.usedNs = this.#parts.clock.monotonicNs();
  }

  end(tenant: TenantId, lane: string, isGood: boolean): void {
    const state = this.#stateOf(tenant, lane);
    state.underWay--;
    state.usedNs = this.#parts.clock.monotonicNs();
    state.window = isGood ? Math.min(WINDOW_MAX, state.window + 1) : 1;
  }

  /** What may be claimed from lanes that were used lately. */
  limits(): LaneLimit[] {
    const nowNs = this.#parts.clock.monotonicNs();
    const limits: LaneLimit[] = [];
    for (const [key, { tenant, lane, underWay, window, usedNs }] of this.#lanes) {
      if (underWay === 0 && nowNs - usedNs > IDLE_NS) this.#lanes.delete(key);
      else limits.push({ tenant, lane, max: Math.max(0, window - underWay) });
    }
    return limits;
  }

  #stateOf(tenant: TenantId, lane: string): LaneState {
    const key = `${tenant}\n${lane}`;
    let state = this.#lanes.get(key);
    if (state === undefined) {
      state = { tenant, lane, underWay: 0, window: WINDOW_MIN, usedNs: 0 };
      this.#lanes.set(key, state);
    }
    return state;
  }

  #forget(nowNs: number): void {
    for (const [key, nextNs] of this.#nextNs) if (nextNs < nowNs) this.#nextNs.delete(key);
  }
}
