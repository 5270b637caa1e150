// The one directory in which everything is kept. Made at first start, for its owner alone.

import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import type { Check } from '../admin/health.ts';
import { StartError } from '../start-error.ts';

/** Makes the directory if need be; throws StartError when it cannot be used. */
export async function openDataDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await assertUsable(directory);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new StartError(`cannot use the data directory ${directory} (${code}); see Storage__DataDirectory`, {
      cause: error,
    });
  }
}

export function dataDirectoryCheck(directory: string): Check {
  return {
    name: 'storage',
    essential: true,
    async run() {
      await assertUsable(directory);
      return { status: 'Healthy', description: 'The data directory is there and writable.' };
    },
  };
}

async function assertUsable(directory: string): Promise<void> {
  const found = await stat(directory);
  if (!found.isDirectory())
    throw Object.assign(new Error(`${directory} is no directory`), { code: 'ENOTDIR' });
  await access(directory, constants.W_OK | constants.X_OK);
}
