// Which program this is, as its package says it.

import { readFileSync } from 'node:fs';
import { parseJson } from '@tallystick/evidence';

export interface Build {
  readonly version: string;
  /** Of the sources; undefined where neither the package nor the repository around it says it. */
  readonly commit: string | undefined;
}

/** Read, not imported: sources and build both stand two levels below the manifest. */
const MANIFEST = new URL('../../package.json', import.meta.url);
/** As it lies in a working copy. A package that is installed says its commit itself. */
const REPOSITORY = new URL('../../.git/', MANIFEST);

export function readBuild(manifest = MANIFEST, repository = REPOSITORY): Build {
  // Our own manifest, of which npm makes sure that it has a version; `gitHead` is what npm calls the commit.
  const { version, gitHead } = parseJson(readFileSync(manifest, 'utf8')) as {
    version: string;
    gitHead?: unknown;
  };
  return { version, commit: typeof gitHead === 'string' ? gitHead : checkedOut(repository) };
}

/** What has been changed since, it does not tell. */
function checkedOut(repository: URL): string | undefined {
  const read = (file: string) => readFileSync(new URL(file, repository), 'utf8').trim();
  try {
    const head = read('HEAD');
    const branch = /^ref: (refs\/.+)$/.exec(head)?.[1];
    const commit = branch === undefined ? head : read(branch);
    return /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined;
  } catch {
    return undefined;
  }
}
