// Tells subscribers when the state of the service, or of a part of it, changes. If several nodes see the same change in the same minute, it
// is one delivery; a change that comes again within the minute is another one. A change that some subscribers could not be told of stays owed, under the id that it had at first.
// What was told last stands in the store, so that a change across a restart is told, too: for each node a lane of the installation, which is
// closed, with the states as its note, while one of them is not Healthy. It is noted after all were told: a crash in between tells again.

import type { HealthReport } from '@tallystick/contract';
import { INSTALLATION, parseJson } from '@tallystick/evidence';
import { type Clock, instant } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Source } from './task.ts';
import { type TellParts, tellSubscribers, type ToldToAll, TRIED_FOR_MS } from './tell-subscribers.ts';

export interface StatusWatchParts extends TellParts {
  readonly report: () => Promise<HealthReport>;
  /** The name of this node. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
}

const PACE_MS = 5000;
const BACK_OFF_MS = 1000;
const BACK_OFF_MS_MAX = 20_000;
const MINUTE_MS = 60_000;

const KIND = 'NodeStatus';
const HEALTHY = 'Healthy';

type States = ReadonlyMap<string, string>;

interface Owed {
  readonly told: ToldToAll;
  readonly sinceMs: number;
}

export function startStatusWatch(parts: StatusWatchParts): Loop {
  const { clock, random, telemetry } = parts;
  let known: States | undefined;
  let noted: string | undefined;
  let owed: readonly Owed[] = [];
  const seen = new SeenChanges();
  return startLoop({
    clock,
    random,
    paceMs: PACE_MS,
    // What is measured first is measured by then, and the service has started.
    firstMs: PACE_MS,
    backOffMs: BACK_OFF_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    async turn() {
      if (known === undefined) {
        noted = await readNote(parts);
        known = statesNoted(noted);
      }
      const states = statesIn(await parts.report());
      const nowMs = clock.now();
      const changes = changesBetween(known, states, nowMs, seen);
      known = states;
      owed = [
        ...owed.filter(({ sinceMs }) => nowMs - sinceMs < TRIED_FOR_MS),
        ...changes.map((change) => ({ told: toldOf(change), sinceMs: nowMs })),
      ];
      if (owed.length > 0) {
        const told = owed.map((each) => each.told);
        await tellSubscribers(() => told, parts);
        owed = [];
      }
      const note = noteOf(states);
      if (note !== noted) await writeNote(note, parts);
      noted = note;
    },
    onFailure: ({ error }) =>
      telemetry.error('subscribers could not be told of the state of the service', error),
    onBroken: (error) => telemetry.error('subscribers are no longer told of the state of the service', error),
  });
}

async function readNote({ work, node }: StatusWatchParts): Promise<string | undefined> {
  const [lane] = await work.forTenant(INSTALLATION).lanes(KIND, [node]);
  return lane?.isOpen === false ? lane.note : undefined;
}

async function writeNote(note: string | undefined, { work, node }: StatusWatchParts): Promise<void> {
  const lane = { kind: KIND, lane: node } as const;
  const news = note === undefined ? ({ status: 'Opens' } as const) : ({ status: 'Closes', note } as const);
  await work.forTenant(INSTALLATION).changeLane(lane, news);
}

/** Those that are not Healthy; undefined if all are. */
function noteOf(states: States): string | undefined {
  const unsound = [...states].filter(([, status]) => status !== HEALTHY);
  return unsound.length === 0 ? undefined : JSON.stringify(Object.fromEntries(unsound));
}

/** A note that cannot be read says nothing. */
function statesNoted(note: string | undefined): States {
  try {
    return new Map(Object.entries(note === undefined ? {} : (parseJson(note) as Record<string, string>)));
  } catch {
    return new Map();
  }
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
  const statusBefore = (name: string) => before.get(name) ?? HEALTHY;
  const changed = [...now].filter(([name, status]) => statusBefore(name) !== status);
  return changed.map(([component, status]) => {
    const previousStatus = statusBefore(component);
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
