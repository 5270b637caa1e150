// The directory for all data. It is created at the first start, for its owner only.

import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Check } from '../../admin/health.ts';
import { StartError } from '../../start-error.ts';

/** Creates the directory if it is missing; throws StartError if it cannot be used. */
export async function openDataDirectory(directory: string): Promise<void> {
  try {
    await makeDirectory(resolve(directory));
    await assertUsable(directory);
  } catch (error) {
    throw new StartError(
      `cannot use the data directory ${directory} (${codeOf(error)}); see Storage__DataDirectory`,
      {
        cause: error,
      },
    );
  }
}

/** Node's recursive mkdir never returns if a directory cannot be created although its parent exists. */
async function makeDirectory(directory: string): Promise<void> {
  const make = () => mkdir(directory, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || dirname(directory) === directory) throw error;
    await makeDirectory(dirname(directory));
    await make();
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/** `database` is set if there is one besides the data directory. */
export function storageCheck(directory: string, database?: { readonly answers: () => Promise<void> }): Check {
  return {
    name: 'storage',
    essential: true,
    async run() {
      await assertUsable(directory);
      await database?.answers();
      const description =
        database === undefined
          ? 'The data directory is there and writable.'
          : 'The data directory is there and writable, and the database answers.';
      return { status: 'Healthy', description };
    },
  };
}

async function assertUsable(directory: string): Promise<void> {
  const found = await stat(directory);
  if (!found.isDirectory())
    throw Object.assign(new Error(`${directory} is not a directory`), { code: 'ENOTDIR' });
  await access(directory, constants.W_OK | constants.X_OK);
}
