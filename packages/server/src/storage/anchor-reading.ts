// Reads an anchor beside whoever writes it, as it is at this moment: one file, or those of all nodes in a directory.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AnchorDamage, readAnchorHistory } from './anchor-form.ts';
import { type FileHistory, isAnchorFile } from './anchor-merge.ts';
import { fault } from './fsck/store-fault.ts';

/** Its owner may cut and write while it is read: what is still damaged then is so. */
const ATTEMPTS = 3;

/** Undefined when there is none; throws EvidenceError, which says what file, for one that is damaged. */
export function readAnchorFiles(place: string): FileHistory[] | undefined {
  const files = anchorFilesAt(place);
  return files.length === 0 ? undefined : files.map((path) => ({ path, history: readOne(path) }));
}

export function hasAnchor(place: string): boolean {
  return anchorFilesAt(place).length > 0;
}

function anchorFilesAt(place: string): string[] {
  const isFolder = statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
  const paths = isFolder
    ? readdirSync(place)
        .filter(isAnchorFile)
        .sort()
        .map((name) => join(place, name))
    : [place];
  // A folder of such a name is a draft of whoever writes the file.
  return paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

function readOne(path: string): FileHistory['history'] {
  for (let attempt = 1; ; attempt++) {
    try {
      return readAnchorHistory(readFileSync(path));
    } catch (error) {
      if (!(error instanceof AnchorDamage)) throw error;
      if (attempt === ATTEMPTS) throw fault('CHECKSUM_MISMATCH', `the anchor ${path}: ${error.message}`);
    }
  }
}
