// Where the processor time of a run goes: with TEST_TIMES every process of test files appends to the file of that name what it
// has used, together with the processes that it started and saw end. On Linux, which tells of those.

import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const TICKS_PER_SECOND = 100;

/** Behind the name of the process, which may hold anything: user and system time, its own and those of its children. */
function usedSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ');
  return fields.slice(11, 15).reduce((ticks, each) => ticks + Number(each), 0) / TICKS_PER_SECOND;
}

let toldSeconds = 0;

/** Tells what was used since the last call. */
export function lap(name: string): void {
  const path = process.env['TEST_TIMES'];
  if (path === undefined) return;
  const seconds = usedSeconds();
  appendFileSync(path, `${(seconds - toldSeconds).toFixed(2).padStart(8)}  ${name}\n`);
  toldSeconds = seconds;
}

// Preloaded by each of them; what a test starts has another parent.
if (isMainThread && process.ppid === Number(process.env['TALLYSTICK_TEST_RUNNER']))
  process.on('exit', () => lap(relative(process.cwd(), process.argv[1]!)));
