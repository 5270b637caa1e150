// Tells subscribers when the service misses one of its levels, and when that is over: once for all nodes, and also if a node ends in
// between. What was told stands in the store: for each level a lane of the installation, which is closed while some node misses it. The note
// of the lane has the id of the miss, from which the ids of all deliveries follow, and when a node has confirmed it last.

import type { ServiceLevel, ServiceLevelName, ThresholdCrossing } from '@tallystick/contract';
import { INSTALLATION, parseJson } from '@tallystick/evidence';
import { LevelStates } from '../admin/level-states.ts';
import type { Levels } from '../admin/levels.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { LaneClosing, LaneOpening } from '../work/lanes.ts';
import { type TellParts, tellSubscribers, type ToldToAll } from './tell-subscribers.ts';

export interface LevelWatchParts extends TellParts {
  readonly levels: Pick<Levels, 'measureLag' | 'ofProcess'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'info' | 'warn' | 'error'>;
  readonly paceMs?: number | undefined;
}

const PACE_MS = 5000;
const BACK_OFF_MS = 1000;
const BACK_OFF_MS_MAX = 60_000;
const CONFIRMED_EVERY_MS = 20_000;
/** A miss that no node has confirmed for so long is over. */
const OVER_AFTER_MS = 60_000;
const KIND = 'ServiceLevel';

/** A miss, as it stands in the store. */
interface Miss {
  readonly id: string;
  readonly observed: number;
  readonly sinceMs: number;
  readonly confirmedMs: number;
}

export function startLevelWatch(parts: LevelWatchParts): Loop {
  const { levels, clock, random, telemetry } = parts;
  const states = new LevelStates();
  /** The misses that this process knows to be told of. */
  const told = new Set<string>();
  return startLoop({
    clock,
    random,
    paceMs: parts.paceMs ?? PACE_MS,
    backOffMs: BACK_OFF_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    async turn() {
      levels.measureLag();
      const measured = levels.ofProcess();
      for (const level of measured) states.note(level);
      const lanes = await lanesOf(parts).lanes(
        KIND,
        measured.map(({ name }) => name),
      );
      for (const [i, level] of measured.entries()) {
        const note = lanes[i]?.isOpen === false ? lanes[i].note : undefined;
        if (states.isBroken(level.name)) await keepMissed(level, note, told, parts);
        else if (note !== undefined) await endMiss(level, note, told, parts);
      }
    },
    onFailure: ({ error }) =>
      telemetry.error('subscribers could not be told of the levels of service', error),
    onBroken: (error) => telemetry.error('subscribers are no longer told of the levels of service', error),
  });
}

async function keepMissed(
  level: ServiceLevel,
  note: string | undefined,
  told: Set<string>,
  parts: LevelWatchParts,
): Promise<void> {
  const { clock, nextId, telemetry } = parts;
  const nowMs = clock.now();
  if (note === undefined) {
    const miss = { id: nextId(), observed: level.current ?? 0, sinceMs: nowMs, confirmedMs: nowMs };
    const isFirst = await setLane(level.name, parts, {
      status: 'Closes',
      note: JSON.stringify(miss),
      ifOpen: true,
    });
    // Another node was first: the next turn reads what it has noted.
    if (!isFirst) return;
    const { name, target, current } = level;
    telemetry.warn('the service misses a level', { level: name, target, current });
    await tellOnce(beginningOf(miss, level), miss.id, told, parts);
    return;
  }
  const miss = parseJson(note) as Miss;
  await tellOnce(beginningOf(miss, level), miss.id, told, parts);
  if (nowMs - miss.confirmedMs < CONFIRMED_EVERY_MS) return;
  const confirmed = JSON.stringify({ ...miss, confirmedMs: nowMs });
  await setLane(level.name, parts, { status: 'Closes', note: confirmed, ifNote: note });
}

/** Told first: a crash before the lane is opened has it told again, under the same ids. */
async function endMiss(
  level: ServiceLevel,
  note: string,
  told: Set<string>,
  parts: LevelWatchParts,
): Promise<void> {
  const miss = parseJson(note) as Miss;
  if (parts.clock.now() - miss.confirmedMs < OVER_AFTER_MS) return;
  await tellOnce(beginningOf(miss, level), miss.id, told, parts);
  await tellOnce([endOf(miss, level)], `${miss.id} over`, told, parts);
  if (!(await setLane(level.name, parts, { status: 'Opens', ifNote: note }))) return;
  for (const each of [miss.id, `${miss.id} over`]) told.delete(each);
  parts.telemetry.info('a level of service holds again', { level: level.name });
}

async function tellOnce(
  all: readonly ToldToAll[],
  id: string,
  told: Set<string>,
  parts: LevelWatchParts,
): Promise<void> {
  if (told.has(id)) return;
  await tellSubscribers(all, parts);
  told.add(id);
}

function beginningOf({ id, observed, sinceMs }: Miss, level: ServiceLevel): ToldToAll[] {
  const crossing: ThresholdCrossing = {
    thresholdId: id,
    name: level.name,
    observedValue: observed,
    threshold: level.target,
    window: level.window,
    groupKey: '',
    severity: 'High',
    detectedAt: instant(sinceMs),
  };
  return [
    {
      eventType: 'ThresholdExceeded',
      webhookType: 'threshold.exceeded',
      source: { of: 'Level', id, crossing },
    },
    changeOf(`${id} begins`, level.name, ['Healthy', 'Degraded'], sinceMs),
  ];
}

function endOf({ id, confirmedMs }: Miss, { name }: ServiceLevel): ToldToAll {
  return changeOf(`${id} ends`, name, ['Degraded', 'Healthy'], confirmedMs);
}

function changeOf(
  id: string,
  level: ServiceLevelName,
  [previousStatus, status]: readonly [string, string],
  atMs: number,
): ToldToAll {
  const component = `serviceLevel.${level}`;
  const change = {
    kind: 'SystemStatusChanged',
    component,
    previousStatus,
    status,
    occurredAt: instant(atMs),
  } as const;
  const source = { of: 'System', id: `level ${id}`, change } as const;
  return { eventType: 'SystemStatusChanged', webhookType: 'system.event', source };
}

function lanesOf({ work }: LevelWatchParts) {
  return work.forTenant(INSTALLATION);
}

function setLane(lane: string, parts: LevelWatchParts, news: LaneOpening | LaneClosing): Promise<boolean> {
  return lanesOf(parts).changeLane({ kind: KIND, lane }, news);
}
