// Tells subscribers when the state of the service, or of a part of it, changes. If several nodes see the same change in the same minute, it
// is one delivery; a change that comes again within the minute is another one. A change that some subscribers could not be told of stays owed, under the id that it had at first.

import type { HealthReport } from '@tallystick/contract';
import { type Clock, instant } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Source } from './task.ts';
import { type TellParts, tellSubscribers, type ToldToAll, TRIED_FOR_MS } from './tell-subscribers.ts';

export interface StatusWatchParts extends TellParts {
  readonly report: () => Promise<HealthReport>;
  readonly clock: Clock;
  readonly random: Random;
}

const PACE_MS = 5000;
const BACK_OFF_MS = 1000;
const BACK_OFF_MS_MAX = 20_000;
const MINUTE_MS = 60_000;

type States = ReadonlyMap<string, string>;

interface Owed {
  readonly told: ToldToAll;
  readonly sinceMs: number;
}

export function startStatusWatch(parts: StatusWatchParts): Loop {
  const { clock, random, telemetry } = parts;
  let known: States | undefined;
  let owed: readonly Owed[] = [];
  const seen = new SeenChanges();
  return startLoop({
    clock,
    random,
    paceMs: PACE_MS,
    backOffMs: BACK_OFF_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    async turn() {
      const states = statesIn(await parts.report());
      const nowMs = clock.now();
      const changes = known === undefined ? [] : changesBetween(known, states, nowMs, seen);
      known = states;
      owed = [
        ...owed.filter(({ sinceMs }) => nowMs - sinceMs < TRIED_FOR_MS),
        ...changes.map((change) => ({ told: toldOf(change), sinceMs: nowMs })),
      ];
      if (owed.length === 0) return;
      const told = owed.map((each) => each.told);
      await tellSubscribers(() => told, parts);
      owed = [];
    },
    onFailure: ({ error }) =>
      telemetry.error('subscribers could not be told of the state of the service', error),
    onBroken: (error) => telemetry.error('subscribers are no longer told of the state of the service', error),
  });
}

function statesIn({ status, entries }: HealthReport): States {
  return new Map([
    ['service', status],
    ...Object.entries(entries).map(([name, entry]): [string, string] => [name, entry.status]),
  ]);
}

type Change = Extract<Source, { of: 'System' }>;

/** How often each change was seen in this minute, by the name that all nodes give it. */
class SeenChanges {
  #minute = 0;
  #counts = new Map<string, number>();

  idOf(change: string, nowMs: number): string {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#minute) this.#counts = new Map();
    this.#minute = minute;
    const count = (this.#counts.get(change) ?? 0) + 1;
    this.#counts.set(change, count);
    return count === 1 ? `status ${change} ${minute}` : `status ${change} ${minute} ${count}`;
  }
}

function changesBetween(before: States, now: States, nowMs: number, seen: SeenChanges): Change[] {
  const changed = [...now].filter(([name, status]) => before.has(name) && before.get(name) !== status);
  return changed.map(([component, status]) => {
    const previousStatus = before.get(component)!;
    return {
      of: 'System',
      id: seen.idOf(`${component} ${previousStatus} ${status}`, nowMs),
      change: {
        kind: 'SystemStatusChanged',
        component,
        previousStatus,
        status,
        occurredAt: instant(nowMs),
      },
    };
  });
}

function toldOf(source: Change): ToldToAll {
  return { eventType: 'SystemStatusChanged', webhookType: 'system.event', source };
}
