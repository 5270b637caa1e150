// Tells subscribers when the service misses one of its levels, and when that is over: once for all nodes, and also if a node ends in
// between. All are told that a level is missed, without a figure: those of the process tell of other tenants. A tenant is told of a crossed
// threshold where its own requests miss the level, too, with what was measured of them. What was told stands in the store: for each level a lane
// of the installation, which is closed while some node misses it. Its note has the id of the miss, from which the ids of all deliveries
// follow, and by the clock of the store when a node has confirmed it last.

import type { ServiceLevel, ServiceLevelName, TenantId } from '@tallystick/contract';
import { INSTALLATION, parseJson } from '@tallystick/evidence';
import { LevelStates } from '../admin/level-states.ts';
import type { Levels } from '../admin/levels.ts';
import { type Clock, instant } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { LaneClosing, LaneOpening } from '../work/lanes.ts';
import { type TellParts, tellSubscribers, type ToldToAll, TRIED_FOR_MS } from './tell-subscribers.ts';

export interface LevelWatchParts extends TellParts {
  readonly levels: Pick<Levels, 'measureLag' | 'ofProcess' | 'ofTenant'>;
  /** By the clock that all nodes share. */
  readonly storeNowMs: () => Promise<number>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'info' | 'warn' | 'error'>;
  readonly paceMs?: number | undefined;
}

const PACE_MS = 5000;
/** Far below half of `OVER_AFTER_MS`: a node that fails for a moment goes on confirming in time. */
const BACK_OFF_MS_MAX = 20_000;
const CONFIRMED_EVERY_MS = 20_000;
/** A miss that no node has confirmed for so long is over. */
const OVER_AFTER_MS = 60_000;
const KIND = 'ServiceLevel';

/** A miss, as it stands in the store. */
interface Miss {
  readonly id: string;
  readonly sinceMs: number;
  readonly confirmedMs: number;
  /** It is over, and subscribers are being told. */
  readonly endedMs?: number | undefined;
}

/** What is known of a level in one turn. */
interface Seen {
  readonly level: ServiceLevel;
  readonly note: string;
  readonly miss: Miss;
  readonly nowMs: number;
}

/** What this process knows to be told last of each level: the id of a miss, or that of its end. */
type Told = Map<ServiceLevelName, string>;

export function startLevelWatch(parts: LevelWatchParts): Loop {
  const { levels, clock, random, telemetry, paceMs = PACE_MS } = parts;
  const states = new LevelStates();
  const told: Told = new Map();
  return startLoop({
    clock,
    random,
    paceMs,
    backOffMs: paceMs,
    backOffMsMax: BACK_OFF_MS_MAX,
    async turn() {
      levels.measureLag();
      const measured = levels.ofProcess();
      for (const level of measured) states.note(level);
      const lanes = await lanesOf(parts).lanes(
        KIND,
        measured.map(({ name }) => name),
      );
      const failures: unknown[] = [];
      for (const [i, level] of measured.entries()) {
        const note = lanes[i]?.isOpen === false ? lanes[i].note : undefined;
        try {
          await tellOfLevel(level, note, states.isBroken(level.name), told, parts);
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
    onFailure: ({ error }) =>
      telemetry.error('subscribers could not be told of the levels of service', error),
    onBroken: (error) => telemetry.error('subscribers are no longer told of the levels of service', error),
  });
}

async function tellOfLevel(
  level: ServiceLevel,
  note: string | undefined,
  isBroken: boolean,
  told: Told,
  parts: LevelWatchParts,
): Promise<void> {
  if (note === undefined) {
    if (isBroken) await beginMiss(level, told, parts);
    return;
  }
  const miss = readMiss(note);
  if (miss === undefined) {
    const unread = new Error(`the note of ${level.name} is no miss`);
    parts.telemetry.error('a level of service is watched anew, because its note cannot be read', unread);
    await setLane(level.name, parts, { status: 'Opens', ifNote: note });
    return;
  }
  const seen = { level, note, miss, nowMs: await parts.storeNowMs() };
  await (isBroken && miss.endedMs === undefined ? keepMiss : endMiss)(seen, told, parts);
}

async function beginMiss(level: ServiceLevel, told: Told, parts: LevelWatchParts): Promise<void> {
  const { name, target, current } = level;
  const nowMs = await parts.storeNowMs();
  const miss: Miss = { id: parts.nextId(), sinceMs: nowMs, confirmedMs: nowMs };
  const note = JSON.stringify(miss);
  // If another node was first, the next turn reads what it has noted.
  if (!(await setLane(name, parts, { status: 'Closes', note, ifOpen: true }))) return;
  parts.telemetry.warn('the service misses a level', { serviceLevel: name, target, current });
  await tellBeginning({ level, note, miss, nowMs }, told, parts);
}

/** Confirmed first: subscribers that cannot be told do not end it. */
async function keepMiss(seen: Seen, told: Told, parts: LevelWatchParts): Promise<void> {
  const { level, note, miss, nowMs } = seen;
  const isDue = nowMs - miss.confirmedMs >= CONFIRMED_EVERY_MS;
  if (isDue) {
    const confirmed = JSON.stringify({ ...miss, confirmedMs: nowMs });
    if (!(await setLane(level.name, parts, { status: 'Closes', note: confirmed, ifNote: note }))) return;
  }
  // Tenants whose own requests have come to miss it since are told with the next confirmation.
  if (isDue || told.get(level.name) !== miss.id) await tellBeginning(seen, told, parts);
}

/** It is noted as over before anybody is told, so that no node can confirm it any more; a crash in between has the next node go on. */
async function endMiss(seen: Seen, told: Told, parts: LevelWatchParts): Promise<void> {
  const { level, note, miss, nowMs } = seen;
  const { name } = level;
  let ended = note;
  if (miss.endedMs === undefined) {
    if (nowMs - miss.confirmedMs < OVER_AFTER_MS) return;
    ended = JSON.stringify({ ...miss, endedMs: nowMs } satisfies Miss);
    if (!(await setLane(name, parts, { status: 'Closes', note: ended, ifNote: note }))) return;
  }
  const over = `${miss.id} over`;
  if (told.get(name) !== over) {
    const both = [beginningOf(miss, name), endOf(miss, name)];
    await tell(() => both, nowMs - (miss.endedMs ?? nowMs), parts);
    told.set(name, over);
  }
  if (!(await setLane(name, parts, { status: 'Opens', ifNote: ended }))) return;
  parts.telemetry.info('a level of service holds again', { serviceLevel: name });
}

async function tellBeginning(seen: Seen, told: Told, parts: LevelWatchParts): Promise<void> {
  const { level, miss, nowMs } = seen;
  const toldTo = (tenant: TenantId) => [...crossingOf(tenant, seen, parts), beginningOf(miss, level.name)];
  await tell(toldTo, nowMs - miss.sinceMs, parts);
  told.set(level.name, miss.id);
}

/** Throws, so that it is told again, until it was tried for long. Who could not be told is in the diagnostics. */
async function tell(
  toldTo: (tenant: TenantId) => readonly ToldToAll[],
  triedMs: number,
  parts: LevelWatchParts,
): Promise<void> {
  try {
    await tellSubscribers(toldTo, parts);
  } catch (error) {
    if (triedMs < TRIED_FOR_MS) throw error;
  }
}

/** Of the tenant's own requests alone, as it sees them in its status. */
function crossingOf(
  tenant: TenantId,
  { level: { name }, miss, nowMs }: Seen,
  { levels }: LevelWatchParts,
): ToldToAll[] {
  const own = levels.ofTenant(tenant).find((level) => level.name === name);
  if (own?.current === undefined || own.holds !== false) return [];
  const crossing = {
    thresholdId: miss.id,
    name,
    observedValue: own.current,
    threshold: own.target,
    window: own.window,
    groupKey: '',
    severity: 'High',
    detectedAt: instant(nowMs),
  } as const;
  const source = { of: 'Level', id: miss.id, crossing } as const;
  return [{ eventType: 'ThresholdExceeded', webhookType: 'threshold.exceeded', source }];
}

function beginningOf({ id, sinceMs }: Miss, name: ServiceLevelName): ToldToAll {
  return changeOf(`${id} begins`, name, ['Healthy', 'Degraded'], sinceMs);
}

function endOf({ id, confirmedMs }: Miss, name: ServiceLevelName): ToldToAll {
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

function readMiss(note: string): Miss | undefined {
  try {
    const { id, sinceMs, confirmedMs, endedMs } = parseJson(note) as Partial<Miss>;
    if (id === undefined || sinceMs === undefined || confirmedMs === undefined) return undefined;
    return { id, sinceMs, confirmedMs, endedMs };
  } catch {
    return undefined;
  }
}

function lanesOf({ work }: LevelWatchParts) {
  return work.forTenant(INSTALLATION);
}

function setLane(lane: string, parts: LevelWatchParts, news: LaneOpening | LaneClosing): Promise<boolean> {
  return lanesOf(parts).changeLane({ kind: KIND, lane }, news);
}
