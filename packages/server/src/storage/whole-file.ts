// Files that appear whole or not at all, for their owner alone: written beside their place, synced, and only then put
// there. What a crash leaves behind is a folder with a draft in it, which nothing reads.

import { link, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** False if there is one already, which is left as it is. */
export function addFile(path: string, content: string | Uint8Array): Promise<boolean> {
  return withDraft(path, content, async (draft) => {
    try {
      // Unlike a rename, a link never replaces what is there.
      await link(draft, path);
      return true;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      return false;
    }
  });
}

/** Where it fails the old file is there or the new one, and which of them a crash would leave is not known. */
export function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  return withDraft(path, content, (draft) => rename(draft, path));
}

export async function syncFolder(directory: string): Promise<void> {
  await using folder = await open(directory, 'r');
  await folder.sync();
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

async function withDraft<T>(
  path: string,
  content: string | Uint8Array,
  place: (draft: string) => Promise<T>,
): Promise<T> {
  // A folder of its own, because its name is unique and it lets nobody else in.
  const folder = await mkdtemp(`${path}.draft-`);
  try {
    const draft = join(folder, 'draft');
    await writeSynced(draft, content);
    const placed = await place(draft);
    // Also when another's file is there: whoever put it there may not have come to this yet.
    await syncFolder(dirname(path));
    return placed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeSynced(path: string, content: string | Uint8Array): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(content);
  await file.sync();
}
