// Which program this is, as its package says it.

import { readFileSync } from 'node:fs';
import { parseJson } from '@tallystick/evidence';

export interface Build {
  readonly version: string;
  /** Of the sources; undefined where the package does not say it, as in a working copy. */
  readonly commit: string | undefined;
}

/** Read, not imported: sources and build both stand two levels below the manifest. */
const MANIFEST = new URL('../../package.json', import.meta.url);

export function readBuild(manifest = MANIFEST): Build {
  // Our own manifest, of which npm makes sure that it has a version; `gitHead` is what npm calls the commit.
  const { version, gitHead } = parseJson(readFileSync(manifest, 'utf8')) as {
    version: string;
    gitHead?: unknown;
  };
  return { version, commit: typeof gitHead === 'string' ? gitHead : undefined };
}
