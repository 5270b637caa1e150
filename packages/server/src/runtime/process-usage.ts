// What this process uses of its machine: processor, memory, open files, the lag of its event loop, garbage collection. What
// only Linux tells is undefined elsewhere. Reading it changes nothing for other readers.

import { readdir, readFile } from 'node:fs/promises';
import { constants, monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import { cpuUsage, memoryUsage, version } from 'node:process';
import type { Clock } from './clock.ts';

export interface ProcessFigures {
  /** Of Node: `v24.21.0`. */
  readonly nodeVersion: string;
  /** Of all threads, since the start. */
  readonly cpuUserSeconds: number;
  readonly cpuSystemSeconds: number;
  readonly startedAtSeconds: number;
  /** Of the whole process. */
  readonly residentBytes: number;
  readonly virtualBytes: number | undefined;
  /** Of the main thread. */
  readonly heapTotalBytes: number;
  readonly heapUsedBytes: number;
  readonly externalBytes: number;
  readonly openFiles: number | undefined;
  readonly openFilesMax: number | undefined;
  /** Of the main thread; undefined before the first measurement. */
  readonly loopLag: LoopLag | undefined;
}

/** How far apart a timer of `LAG_RESOLUTION_MS` fired, in seconds, since a reading that is a minute old or older. */
export interface LoopLag {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export const COLLECTIONS = ['major', 'minor', 'incremental', 'weakcb'] as const;
export type Collection = (typeof COLLECTIONS)[number];

export interface ProcessUsage extends Disposable {
  read(): Promise<ProcessFigures>;
}

const LAG_RESOLUTION_MS = 10;
const WINDOW_NS = 60e9;
/** A window this short says nothing yet: until then the one before it is told. */
const WINDOW_NS_MIN = 10e9;

const KIND_OF: Readonly<Record<number, Collection>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

/** `onCollected` is told of each garbage collection of the main thread. */
export function watchProcess(
  clock: Pick<Clock, 'monotonicNs'>,
  onCollected: (kind: Collection, spanNs: number) => void,
): ProcessUsage {
  const lag = new LagWindow(clock);
  const collections = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { detail, duration } = entry as { detail?: { kind?: number }; duration: number };
      const kind = KIND_OF[detail?.kind ?? 0];
      if (kind !== undefined) onCollected(kind, duration * 1e6);
    }
  });
  collections.observe({ entryTypes: ['gc'] });
  return {
    async read() {
      const [virtualBytes, openFiles, openFilesMax] = await Promise.all([
        virtualMemory(),
        countOpenFiles(),
        openFilesLimit(),
      ]);
      const { user, system } = cpuUsage();
      const { rss, heapTotal, heapUsed, external } = memoryUsage();
      return {
        nodeVersion: version,
        cpuUserSeconds: user / 1e6,
        cpuSystemSeconds: system / 1e6,
        startedAtSeconds: performance.timeOrigin / 1000,
        residentBytes: rss,
        virtualBytes,
        heapTotalBytes: heapTotal,
        heapUsedBytes: heapUsed,
        externalBytes: external,
        openFiles,
        openFilesMax,
        loopLag: lag.read(),
      };
    },
    [Symbol.dispose]() {
      collections.disconnect();
      lag[Symbol.dispose]();
    },
  };
}

/** Several readers see the same: a window is not cleared because somebody has read it, but because its time is over. */
class LagWindow implements Disposable {
  readonly #clock: Pick<Clock, 'monotonicNs'>;
  readonly #delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  #sinceNs: number;
  #before: LoopLag | undefined;

  constructor(clock: Pick<Clock, 'monotonicNs'>) {
    this.#clock = clock;
    this.#sinceNs = clock.monotonicNs();
    this.#delays.enable();
  }

  read(): LoopLag | undefined {
    const nowNs = this.#clock.monotonicNs();
    const ageNs = nowNs - this.#sinceNs;
    const told = (ageNs < WINDOW_NS_MIN ? this.#before : undefined) ?? this.#now();
    if (ageNs >= WINDOW_NS) {
      this.#before = told;
      this.#delays.reset();
      this.#sinceNs = nowNs;
    }
    return told;
  }

  #now(): LoopLag | undefined {
    const { count, mean, max } = this.#delays;
    if (count === 0) return undefined;
    const at = (percentile: number) => this.#delays.percentile(percentile) / 1e9;
    return { mean: mean / 1e9, p50: at(50), p90: at(90), p99: at(99), max: max / 1e9 };
  }

  [Symbol.dispose](): void {
    this.#delays.disable();
  }
}

/** The folder is itself open while it is read. */
async function countOpenFiles(): Promise<number | undefined> {
  return (await ifThere(readdir('/proc/self/fd')))?.slice(1).length;
}

async function openFilesLimit(): Promise<number | undefined> {
  const soft = /^Max open files\s+(\d+)/m.exec((await proc('limits')) ?? '')?.[1];
  return soft === undefined ? undefined : Number(soft);
}

async function virtualMemory(): Promise<number | undefined> {
  const kilobytes = /^VmSize:\s+(\d+) kB$/m.exec((await proc('status')) ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

function proc(file: string): Promise<string | undefined> {
  return ifThere(readFile(`/proc/self/${file}`, 'utf8'));
}

/** Undefined where the system has no such file, or does not let us read it. */
function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch(() => undefined);
}
