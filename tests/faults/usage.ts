// What a service uses of the machine, as Linux tells it.

import { readFileSync } from 'node:fs';
import type { Service } from './running.ts';

const MB = 1024 * 1024;
const PAGE_BYTES = 4096;

/** The most memory that was ever resident, in MB. */
export function peakMb({ pid }: Service): number {
  const kb = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1024;
}

/** Resident memory, in MB. */
export function residentMb({ pid }: Service): number {
  const pages = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1];
  return (Number(pages) * PAGE_BYTES) / MB;
}

/** Milliseconds of the processor's time that it has used so far, however busy the machine is otherwise. */
export function processorMs({ pid }: Service): number {
  const behindName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  const [user, system] = [Number(behindName[11]), Number(behindName[12])];
  return (user + system) * 10;
}
