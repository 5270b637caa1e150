// Run by npm before it packs the package in the current directory: builds what is not built, and puts the published manifest
// and the licence there. `postpack.ts` takes both away again.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { KEPT, LICENSE, MANIFEST } from './places.ts';
import { type Manifest, publishedManifest } from './published.ts';

const ROOT = join(import.meta.dirname, '..');

function isBuilt(): boolean {
  const changedMs = (pattern: string) => globSync(pattern).map((path) => statSync(path).mtimeMs);
  const sources = changedMs('src/**/*.ts');
  const built = changedMs('dist/index.js').concat(changedMs('dist/main.js'));
  return built.length > 0 && Math.max(...sources) < Math.min(...built);
}

/** Undefined outside of a working copy. */
function commitOf(): string | undefined {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

if (!isBuilt()) execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: ['ignore', 2, 2] });
// What an earlier run has left that did not come to its end.
if (existsSync(KEPT)) renameSync(KEPT, MANIFEST);
const text = readFileSync(MANIFEST, 'utf8');
const published = publishedManifest(JSON.parse(text) as Manifest, commitOf());
writeFileSync(KEPT, text);
writeFileSync(MANIFEST, `${JSON.stringify(published, undefined, 2)}\n`);
copyFileSync(join(ROOT, LICENSE), LICENSE);
