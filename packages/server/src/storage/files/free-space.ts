// How much room there is where files are kept, for a process that is not the superuser.

import { statfs } from 'node:fs/promises';

/** Undefined: the directory is not there, or its file system does not say. */
export async function freeBytes(directory: string): Promise<number | undefined> {
  try {
    const { bavail, bsize, blocks } = await statfs(directory);
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
}
