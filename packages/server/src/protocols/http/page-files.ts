// What pages of the service have in common: their policy, and the files in them that others have written. A package of ours has
// copies of those beside its modules, made when it is packed, so that those who install it get these files and not the packages
// that come with them; in the repository they are where npm has put them.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { packed, type StaticFile } from './static-file.ts';

export const PAGE_TYPE = 'text/html; charset=utf-8';
export const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
const STYLE_TYPE = 'text/css; charset=utf-8';

/**
 * Swagger UI and GraphiQL set styles on elements, and have their fonts and pictures in their style sheets; scripts run from our own
 * files only, and a page asks nobody but us.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A script or a style sheet at its path in a package of npm; the copy lies in `folder`. */
export async function copiedFile(folder: string, name: string, path: string): Promise<StaticFile> {
  const type = path.endsWith('.css') ? STYLE_TYPE : SCRIPT_TYPE;
  return packed(type, await readCopied(folder, name, path));
}

async function readCopied(folder: string, name: string, path: string): Promise<Buffer> {
  try {
    return await readFile(join(folder, basename(path)));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
  return readFile(join(manifest, '..', path));
}
