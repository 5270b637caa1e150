// Bundles of what a test run starts again and again: the command, the threads of the service, and the programs of the
// fault tests. Loading some hundred modules takes longer than most of what they are started for; a bundle is one file.

import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'node_modules/.cache/bundles');
const PROGRAMS = [
  'packages/cli/src/main.ts',
  'packages/cli/src/testing/command-process.ts',
  'tests/faults/processes/*.ts',
];
const THREADS = ['packages/*/src/**/*-thread.ts'];
const OURS = '@tallystick/';

/** Makes all bundles anew; gives the path of a list, from the URL of a source to that of its bundle. */
export async function bundleStarted(): Promise<string> {
  rmSync(FOLDER, { recursive: true, force: true });
  const programs = globSync(PROGRAMS, { cwd: ROOT });
  const threads = globSync(THREADS, { cwd: ROOT });
  // A program loads what its command needs, and no more; a thread needs all that it has.
  await bundle(programs, true);
  await bundle(threads, false);
  const list = join(FOLDER, 'list.json');
  const bundleOf = (path: string) => join(FOLDER, path.replace(/\.ts$/, '.mjs'));
  const urls = [...programs, ...threads].map((path) =>
    [join(ROOT, path), bundleOf(path)].map((each) => pathToFileURL(each)),
  );
  writeFileSync(list, JSON.stringify(Object.fromEntries(urls)));
  return list;
}

async function bundle(entryPoints: string[], splitting: boolean): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints,
    outbase: ROOT,
    outdir: FOLDER,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    conditions: ['source'],
    external: dependencies(),
    // Errors are told apart by the names of their classes.
    keepNames: true,
    plugins: [inPlace],
    logLevel: 'error',
  });
}

/** What others have written is loaded from where it is installed. */
function dependencies(): string[] {
  return globSync('packages/*/package.json', { cwd: ROOT }).flatMap((path) => {
    const manifest = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as {
      dependencies?: Record<string, string>;
      peerDependencies?: Record<string, string>;
    };
    const { dependencies: own, peerDependencies: peers } = manifest;
    return Object.keys({ ...own, ...peers }).filter((name) => !name.startsWith(OURS));
  });
}

/** In a bundle, a module still finds what lies beside its source. */
const inPlace: Plugin = {
  name: 'in place',
  setup(building) {
    building.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const url = JSON.stringify(pathToFileURL(path).href);
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.url', url)
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)));
      if (contents.includes('import.meta')) throw new Error(`${relative(ROOT, path)}: import.meta has more`);
      return { contents, loader: 'ts' };
    });
  },
};
