// Files that appear whole or not at all, for their owner alone: written beside their place, synced, and only then put
// there. What a crash leaves behind is a folder with a draft in it, which nothing reads; `removeDrafts` takes it away.

import { link, lstat, mkdtemp, open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const DRAFT = 'draft';
/** As mkdtemp names it. */
const DRAFT_FOLDER = /\.draft-[A-Za-z0-9]{6}$/;
const DRAFT_MS_MAX = 10 * 60_000;

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

/**
 * Removes what crashes have left of drafts in a folder that is ours; it may hold secrets. Others may be writing there:
 * a draft lives for milliseconds, so one that is not old is theirs.
 */
export async function removeDrafts(folder: string, nowMs: number): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (!DRAFT_FOLDER.test(name)) continue;
    const path = join(folder, name);
    const found = await lstat(path).catch(onlyIfGone);
    if (found?.isDirectory() !== true || nowMs - found.mtimeMs < DRAFT_MS_MAX) continue;
    const inside = await namesIn(path);
    if (inside.some((each) => each !== DRAFT)) continue;
    await rm(join(path, DRAFT), { force: true });
    await rmdir(path).catch(onlyIfGone);
  }
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
    const draft = join(folder, DRAFT);
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

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(onlyIfGone)) ?? [];
}

function onlyIfGone(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}
