// The room that is left where the service writes.

import { dirname } from 'node:path';
import { statSync } from 'node:fs';
import { anchorPlace } from '../../config/anchor-place.ts';
import type { Config } from '../../config/settings.ts';
import { freeBytes } from '../../storage/files/free-space.ts';
import type { Examined, Problem } from './examined.ts';

const MEBIBYTE = 2 ** 20;
/** An anchor is small, and has volumes that are: a line for each log, and what a rewrite of that needs. */
const ANCHOR_MEBIBYTES_MIN = 64;

export async function examineDisks(config: Config): Promise<Examined> {
  const anchor = anchorPlace(config);
  const places = new Map([
    ['data directory', config.storage.dataDirectory],
    ['anchor', statSync(anchor, { throwIfNoEntry: false })?.isDirectory() ? anchor : dirname(anchor)],
    ...(config.exports.directory === undefined
      ? []
      : [['directory of exports', config.exports.directory] as const]),
  ]);
  const problems: Problem[] = [];
  const measured: string[] = [];
  for (const [name, directory] of places) {
    const free = await freeBytes(directory);
    if (free === undefined) continue;
    const mebibytes = Math.floor(free / MEBIBYTE);
    measured.push(`${name} ${mebibytes} MiB free`);
    const { least, setting } = limitOf(name, config);
    if (mebibytes >= least) continue;
    problems.push({
      what: `the disk of the ${name} has ${mebibytes} MiB free; limit ${least} MiB${setting}`,
      remedy: `make room in ${directory}, or enlarge the disk`,
    });
  }
  return { problems, measured: measured.join(', ') };
}

function limitOf(name: string, { health }: Config): { readonly least: number; readonly setting: string } {
  const least = health.freeMebibytesDegraded;
  if (name === 'anchor' && least > ANCHOR_MEBIBYTES_MIN) return { least: ANCHOR_MEBIBYTES_MIN, setting: '' };
  return { least, setting: ' (Health__FreeMebibytesDegraded)' };
}
