// How much of the machine's processors somebody takes, from what Linux says of processes.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { PostgresServer } from '../packages/server/src/testing/postgres-server.ts';

export type Share = 'nodes' | 'database' | 'load' | 'machine';
export type CpuSeconds = Readonly<Record<Share, number>>;

export const CORES = availableParallelism();
/** Of a second: what processes are counted in. */
const TICKS = 100;

/** Who makes segments rests for half a second now and then; the index is made when the service rests longer. */
export const IDLE_MS = 3000;
const IDLE_STEP_MS = 500;
/** Of a processor. */
const IDLE_SHARE_MAX = 0.15;

/** Seconds of a processor until now; undefined where nobody says. The load are children of this process that have ended. */
export function cpuSeconds(nodePids: readonly number[], server: PostgresServer): CpuSeconds | undefined {
  if (!existsSync('/proc/self/stat')) return undefined;
  const postmaster = Number.parseInt(readFileSync(join(server.dataDirectory, 'postmaster.pid'), 'utf8'), 10);
  const processes = readdirSync('/proc').map(Number).filter(Boolean);
  const backends = processes.filter((pid) => timesOf(pid)?.parent === postmaster);
  const own = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + (timesOf(pid)?.own ?? 0), 0);
  return {
    nodes: own(nodePids),
    database: own([postmaster, ...backends]) + (timesOf(postmaster)?.ofEnded ?? 0),
    load: timesOf(process.pid)?.ofEnded ?? 0,
    machine: busySeconds(),
  };
}

/** Of one process alone; undefined where nobody says, or it has ended. */
export function cpuSecondsOf(pid: number): number | undefined {
  return timesOf(pid)?.own;
}

/** Whether the service has next to nothing to do for a while; where nobody says what it does, at once. */
export async function isIdleWithin(pid: number, msMax: number): Promise<boolean> {
  const deadline = performance.now() + msMax;
  for (let idleMs = 0; idleMs < IDLE_MS; ) {
    const before = cpuSecondsOf(pid);
    if (before === undefined) return true;
    await new Promise((resolve) => setTimeout(resolve, IDLE_STEP_MS));
    const busyMs = ((cpuSecondsOf(pid) ?? before) - before) * 1000;
    idleMs = busyMs <= IDLE_SHARE_MAX * IDLE_STEP_MS ? idleMs + IDLE_STEP_MS : 0;
    if (performance.now() > deadline) return false;
  }
  return true;
}

/** Processors that were busy for it between two looks, on average. */
export function coresBetween(
  before: CpuSeconds,
  after: CpuSeconds,
  seconds: number,
): Readonly<Record<Share, number>> {
  const between = (share: Share) => (after[share] - before[share]) / seconds;
  return {
    nodes: between('nodes'),
    database: between('database'),
    load: between('load'),
    machine: between('machine'),
  };
}

function timesOf(pid: number) {
  try {
    // Behind the name, which may hold anything. The manual counts from the id, which is its first field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ').map(Number);
    const field = (number: number) => fields[number - 3]!;
    return {
      parent: field(4),
      own: (field(14) + field(15)) / TICKS,
      ofEnded: (field(16) + field(17)) / TICKS,
    };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

function busySeconds(): number {
  const [user, nice, system, , , interrupts, soft] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]!
    .replace(/^cpu +/, '')
    .split(' ')
    .map(Number);
  return (user! + nice! + system! + interrupts! + soft!) / TICKS;
}
