// Done once for a whole test run: a folder for temporary files in memory, one PostgreSQL for all tests that need no server of
// their own, and bundles of what is started again and again. A test that is run alone needs none of it.

import { chmodSync, existsSync, globSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { shareMigrated } from '../../packages/server/src/testing/migrated-database.ts';
import { type Databases, sharePostgres } from '../../packages/server/src/testing/postgres-server.ts';
import { bundleStarted } from './bundle.ts';

const MEMORY = '/dev/shm';
const NAME = 'tallystick-tests';
const MEMORY_BYTES_MIN = 8 * 1024 ** 3;

let folder: string | undefined;
let postgres: Databases | undefined;

export async function globalSetup(): Promise<void> {
  folder = folderInMemory();
  if (folder !== undefined) process.env['TMPDIR'] = folder;
  postgres = await sharePostgres();
  await shareMigrated(postgres);
  process.env['TALLYSTICK_TEST_BUNDLES'] = await bundleStarted();
  const preloads = ['redirect.js', ...(process.env['TEST_TIMES'] === undefined ? [] : ['times.ts'])];
  const imports = preloads.map((each) => `--import=${pathToFileURL(join(import.meta.dirname, each)).href}`);
  process.env['NODE_OPTIONS'] = [process.env['NODE_OPTIONS'] ?? '', ...imports].join(' ').trim();
}

export async function globalTeardown(): Promise<void> {
  await postgres?.[Symbol.asyncDispose]();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

/** Where there is enough of it. What tests wait for is the disk, more often than not, and they outlive no power cut. */
function folderInMemory(): string | undefined {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < MEMORY_BYTES_MIN) return undefined;
  for (const [path, pid] of leftBehind()) if (!existsSync(`/proc/${pid}`)) rmSync(path, { recursive: true });
  const made = mkdtempSync(join(MEMORY, `${NAME}-${process.pid}-`));
  // PostgreSQL may run as another user.
  chmodSync(made, 0o755);
  return made;
}

/** The folders of other runs, by the process of each: a run that was killed could not remove its own. */
function leftBehind(): [path: string, pid: string][] {
  return globSync(join(MEMORY, `${NAME}-*`)).map((path) => [path, path.split('-').at(-2)!]);
}
