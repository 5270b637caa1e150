// Whether an fsync in the data directory is believable: it must take as long as a medium and the journal of its file system need. One that
// returns earlier has stored nothing, and what is acknowledged would be lost with the power.

import { closeSync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/settings.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import type { Examined } from './examined.ts';

const TIMES = 32;
const BLOCK = new Uint8Array(4096);
/** An append needs a commit of the file system besides: the fastest drives with protected caches take longer. */
const BELIEVABLE_US = 20;
/** By the magic numbers of Linux: tmpfs and ramfs. */
const IN_MEMORY: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

export function examineSync({ storage: { url, dataDirectory } }: Config): Examined {
  const medianUs = measureSync(dataDirectory);
  // On PostgreSQL the keys are there, and the log is not.
  const holds = url === undefined ? 'the log' : 'the keys of the service';
  return judgeSync(medianUs, statfsSync(dataDirectory).type, holds);
}

export function judgeSync(medianUs: number, fileSystem: number, holds: string): Examined {
  const measured = `${Math.round(medianUs)} µs for an fsync`;
  if (IN_MEMORY.has(fileSystem)) {
    const what = `the data directory is in memory (tmpfs): ${holds} is gone with the power`;
    return { problems: [{ what, remedy: 'move it to a disk: Storage__DataDirectory' }], measured };
  }
  if (medianUs >= BELIEVABLE_US) return { problems: [], measured };
  const what = `an fsync in the data directory returns after ${Math.round(medianUs)} µs, earlier than a medium can store anything: a crash of the machine may lose what was acknowledged`;
  const remedy =
    'look for a write cache without a battery, a virtual disk with an unsafe cache, or a preloaded library that skips fsync (libeatmydata), and switch it off';
  return { problems: [{ what, remedy }], measured };
}

/** The median, in microseconds, of appending a block and waiting for it. */
function measureSync(directory: string): number {
  const path = join(directory, `doctor-${createSystemRandom().uuid()}.tmp`);
  const file = openSync(path, 'wx', 0o600);
  try {
    const took: number[] = [];
    for (let i = 0; i < TIMES; i++) {
      writeSync(file, BLOCK);
      const beganNs = systemClock.monotonicNs();
      fdatasyncSync(file);
      took.push((systemClock.monotonicNs() - beganNs) / 1000);
    }
    return took.toSorted((a, b) => a - b)[TIMES / 2]!;
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
