// Files that are whole or not there, whenever the power fails: written beside their place, synced, and only then put there.

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { codeOf } from './read-text.ts';

/** For its owner alone, in a folder that is made if it is not there. Throws CannotRun. */
export function replaceFile(path: string, text: string): void {
  const folder = dirname(path);
  const draft = `${path}.${process.pid}.new`;
  try {
    const isNew = !existsSync(folder);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeSynced(draft, text);
    renameSync(draft, path);
    syncFolder(folder);
    if (isNew) syncFolder(dirname(folder));
  } catch (error) {
    rmSync(draft, { force: true });
    throw new CannotRun(`cannot write ${path}: ${codeOf(error)}`);
  }
}

export function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
