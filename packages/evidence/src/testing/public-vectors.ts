// For tests: where the data files of other projects are, which this repository does not copy.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER =
  process.env['PUBLIC_VECTORS'] ??
  join(import.meta.dirname, '..', '..', '..', '..', '..', 'shared', 'vectors');

/** For the `skip` of a test: the reason if the folder is not there, false if it is. */
export function skipWithout(path: string): string | false {
  const folder = join(FOLDER, path);
  return existsSync(folder)
    ? false
    : `public vectors are not at ${folder}; set PUBLIC_VECTORS to their folder`;
}

export function vectorBytes(path: string): Uint8Array {
  return Uint8Array.from(readFileSync(join(FOLDER, path)));
}

export function vectorText(path: string): string {
  return readFileSync(join(FOLDER, path), 'utf8');
}

/** Paths of all files below a folder whose names end so. */
export function vectorPaths(folder: string, ending: string): string[] {
  return readdirSync(join(FOLDER, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .sort()
    .map((path) => join(folder, path));
}
