// The file that a command is to write: it is not there yet, and its directory is. Anything else was mistyped, which is a
// fault of the command line and found before any work is done.

import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { codeOf } from './read-text.ts';

/** Throws CannotRun; `advice` says how to name another file. */
export function requireNewFile(file: string, advice: string): void {
  const path = resolve(file);
  if (existsSync(path)) throw new CannotRun(`${path} is there already; ${advice}`);
  const directory = dirname(path);
  let stats: ReturnType<typeof statSync>;
  try {
    stats = statSync(directory, { throwIfNoEntry: false });
  } catch (error) {
    throw new CannotRun(`cannot look into ${directory}: ${codeOf(error)}`);
  }
  if (stats === undefined) throw new CannotRun(`the directory ${directory} does not exist`);
  if (!stats.isDirectory()) throw new CannotRun(`${directory} is no directory`);
}
