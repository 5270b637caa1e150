// Files that appear completely or not at all, for their owner only: written beside their place, synced, and only then
// put there. A crash leaves a folder with a draft, which nothing reads; `removeDrafts` removes it.

import { link, lstat, mkdtemp, open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const DRAFT = 'draft';
/** As mkdtemp names it. */
const DRAFT_FOLDER = /\.draft-[A-Za-z0-9]{6}$/;
const DRAFT_MS_MAX = 10 * 60_000;

/** False if the file exists already, which is left unchanged. */
export function addFile(path: string, content: string | Uint8Array): Promise<boolean> {
  return withDraft(path, content, async (draft) => {
    try {
      // Unlike a rename, a link never replaces an existing file.
      await link(draft, path);
      return true;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      return false;
    }
  });
}

/** After a failure, either the old or the new file is there, and it is unknown which of them a crash would leave. */
export function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  return withDraft(path, content, (draft) => rename(draft, path));
}

/**
 * Removes drafts that crashes have left in our folder; they may hold secrets. Another process may be writing there: a
 * draft lives for milliseconds, so only old ones are removed.
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
  // A folder, because its name is unique and other users have no access.
  const folder = await mkdtemp(`${path}.draft-`);
  try {
    const draft = join(folder, DRAFT);
    await writeSynced(draft, content);
    const placed = await place(draft);
    // Also if another process added the file: it may not have synced the folder yet.
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
