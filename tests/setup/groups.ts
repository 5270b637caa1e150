// Which test files share a process. Half of them take less time than a process needs to start and to load the service. Each
// file of a group is loaded into a suite of its own: its hooks are its own, and a failure is reported under its path. Files run
// one after the other, but all are loaded before the first test runs.

import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'node_modules/.cache/test-groups');
const GROUP_FILES_MAX = 16;
/** As in packages/server/src/storage. */
const ROOM_DEPTH = 4;

/** The long ones come first, so that all cores have work until the end. */
const ALONE = ['packages/**/*.conformance.test.ts', 'tests/faults/*.test.ts', 'tests/{,protocols/}*.test.ts'];
const TOGETHER = [
  'packages/cli/src/**/*.test.ts',
  'packages/server/src/{storage,operate,app}/**/*.test.ts',
  'packages/*/src/**/*.test.ts',
];
/** A module that awaits while it is loaded cannot be required. */
const AWAITS = /^(?:await |(?:const|let) (?!.*\basync\b).*\bawait )/m;

/** Writes a file for each group; gives the paths of all files to run: of all tests, or of those whose path has one of the parts. */
export function groupTests(parts: readonly string[] = []): string[] {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const isWanted = (path: string) => parts.length === 0 || parts.some((part) => path.includes(part));
  const alone = filesOf(ALONE).filter(isWanted);
  const others = filesOf(TOGETHER).filter((path) => isWanted(path) && !alone.includes(path));
  const groups = groupsOf(others.filter((path) => !awaits(path)));
  const waiting = others.filter(awaits);
  return [...[...alone, ...waiting].map((path) => join(ROOT, path)), ...groups.map(writeGroup)];
}

/** Each once, in the order of the patterns. */
function filesOf(patterns: readonly string[]): string[] {
  return [...new Set(patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT }).toSorted()))];
}

function awaits(path: string): boolean {
  return AWAITS.test(readFileSync(join(ROOT, path), 'utf8'));
}

/** Files of one room load the same modules. */
function groupsOf(paths: readonly string[]): string[][] {
  const rooms = Map.groupBy(paths, roomOf);
  return [...rooms.values()].flatMap((files) => {
    const count = Math.ceil(files.length / GROUP_FILES_MAX);
    return Array.from({ length: count }, (_, i) => files.filter((_, j) => j % count === i));
  });
}

function roomOf(path: string): string {
  return dirname(path).split('/').slice(0, ROOM_DEPTH).join('/');
}

/**
 * `require` loads a file synchronously, so that its tests and hooks belong to the suite. A file that cannot be loaded becomes a
 * failing test, because the summary does not count failing suites.
 */
function writeGroup(paths: readonly string[], index: number): string {
  const path = join(FOLDER, `${index}-${roomOf(paths[0]!).replaceAll('/', '-')}.mjs`);
  const text = `import { createRequire } from 'node:module';
import { after, describe, it } from 'node:test';
import { lap } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, 'times.ts')))};

const ROOT = ${JSON.stringify(`${ROOT}/`)};
const PATHS = ${JSON.stringify(paths, undefined, 2)};
const require = createRequire(ROOT);

for (const path of PATHS) {
  describe(path, () => {
    try {
      require(ROOT + path);
    } catch (error) {
      it(\`\${path} is loaded\`, () => Promise.reject(error));
    }
    after(() => lap(path));
  });
}
lap('loading ' + PATHS[0]);
`;
  writeFileSync(path, text);
  return path;
}
