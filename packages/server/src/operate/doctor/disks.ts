// The room that is left where the service writes.

import { dirname } from 'node:path';
import { statSync } from 'node:fs';
import { anchorPlace } from '../../config/anchor-place.ts';
import type { Config } from '../../config/settings.ts';
import { freeBytes } from '../../storage/files/free-space.ts';
import type { Examined, Problem } from './examined.ts';

const MEBIBYTE = 2 ** 20;

export async function examineDisks(config: Config): Promise<Examined> {
  const anchor = anchorPlace(config);
  const places = new Map([
    ['data directory', config.storage.dataDirectory],
    ['anchor', statSync(anchor, { throwIfNoEntry: false })?.isDirectory() ? anchor : dirname(anchor)],
    ...(config.exports.directory === undefined
      ? []
      : [['directory of exports', config.exports.directory] as const]),
  ]);
  const least = config.health.freeMebibytesDegraded;
  const problems: Problem[] = [];
  const measured: string[] = [];
  for (const [name, directory] of places) {
    const free = await freeBytes(directory);
    if (free === undefined) continue;
    const mebibytes = Math.floor(free / MEBIBYTE);
    measured.push(`${name} ${mebibytes} MiB free`);
    if (mebibytes >= least) continue;
    problems.push({
      what: `the disk of the ${name} has ${mebibytes} MiB free; limit ${least} MiB (Health__FreeMebibytesDegraded)`,
      remedy: `make room in ${directory}, or enlarge the disk`,
    });
  }
  return { problems, measured: measured.join(', ') };
}
