// A copy of the evidence package, away from the repository, in which one file at a time is replaced by a mutant and
// the tests that reach it are run. A mutant is killed by the first test that fails.

import { spawn } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';

export type Outcome = 'Killed' | 'Survived' | 'TimedOut';

export interface TestFile {
  path: string;
  /** What it takes on the code as it is. */
  seconds: number;
}

const REPOSITORY = join(import.meta.dirname, '..', '..');
const PACKAGE = 'packages/evidence';
/** Far more than any test waits for something else; what loops is ended by its processor time long before. */
const QUICK_SECONDS = 4;
const WALL_MS_MAX = 300_000;

export class Sandbox {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mutation-'));
  readonly #source = join(this.#folder, PACKAGE, 'src');
  readonly #seconds = new Map<string, number>();

  constructor() {
    cpSync(join(REPOSITORY, PACKAGE), join(this.#folder, PACKAGE), { recursive: true });
    symlinkSync(join(REPOSITORY, 'node_modules'), join(this.#folder, 'node_modules'));
    mkdirSync(join(this.#folder, 'cache'));
  }

  /** Paths from the package's source, of all its files. */
  files(): string[] {
    return globSync('**/*.ts', { cwd: this.#source })
      .map((path) => path.replaceAll('\\', '/'))
      .sort();
  }

  read(path: string): string {
    return readFileSync(join(this.#source, path), 'utf8');
  }

  /**
   * The tests that import the file, however far away: its own first, then those of its room, then the others, each kind
   * by how long it takes. Each is seen to pass. Quick ones are its own, or where it has none those of its room, as far
   * as they take no more than a few seconds.
   */
  async testsFor(path: string, isQuick: boolean): Promise<TestFile[]> {
    const stem = path.replace(/\.ts$/, '');
    const reaching = this.files().filter((file) => file.endsWith('.test.ts') && this.#reaches(file, path));
    const isOwn = (test: string): boolean => test === `${stem}.test.ts` || test.startsWith(`${stem}-`);
    const hasOwn = reaching.some(isOwn);
    const rankOf = (test: string): number => (isOwn(test) ? 0 : dirname(test) === dirname(path) ? 1 : 2);
    const wanted = reaching.filter((test) => !isQuick || rankOf(test) <= (hasOwn ? 0 : 1));
    const tests: TestFile[] = [];
    for (const test of wanted) tests.push({ path: test, seconds: await this.#measure(test) });
    return tests
      .filter(({ path, seconds }) => !isQuick || path === `${stem}.test.ts` || seconds <= QUICK_SECONDS)
      .sort((a, b) => rankOf(a.path) - rankOf(b.path) || a.seconds - b.seconds);
  }

  /** What becomes of a text in place of the file's own. The test that kills it is moved to the front: it may do so again. */
  async outcomeOf(path: string, text: string, tests: TestFile[]): Promise<Outcome> {
    const original = this.read(path);
    writeFileSync(join(this.#source, path), text);
    try {
      for (const [i, test] of tests.entries()) {
        const outcome = await this.#run(test.path, Math.ceil(1.5 * test.seconds) + 2);
        if (outcome === 'Survived') continue;
        tests.splice(i, 1);
        tests.unshift(test);
        return outcome;
      }
      return 'Survived';
    } finally {
      writeFileSync(join(this.#source, path), original);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #reaches(from: string, wanted: string, seen = new Set<string>()): boolean {
    if (from === wanted) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    return [...this.read(from).matchAll(/^(?:import|export|\}) (?:.* )?from '(\.[^']+)';$/gm)]
      .map((found) => normalize(join(dirname(from), found[1]!)).replaceAll('\\', '/'))
      .some((target) => this.#reaches(target, wanted, seen));
  }

  async #measure(test: string): Promise<number> {
    const known = this.#seconds.get(test);
    if (known !== undefined) return known;
    const begun = performance.now();
    if ((await this.#run(test, WALL_MS_MAX / 1000)) !== 'Survived')
      throw new Error(`${test} fails without any mutant`);
    const seconds = (performance.now() - begun) / 1000;
    this.#seconds.set(test, seconds);
    return seconds;
  }

  /** Ends a run at its first failure, which the reporter shows by an X. */
  async #run(test: string, cpuSecondsMax: number): Promise<Outcome> {
    const node = `exec "$0" --conditions=source --max-old-space-size=1500 --test-reporter=dot "$1"`;
    const child = spawn(
      'sh',
      ['-c', `ulimit -t ${cpuSecondsMax}; ${node}`, process.execPath, join(this.#source, test)],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
        timeout: WALL_MS_MAX,
        killSignal: 'SIGKILL',
        env: {
          ...process.env,
          // A run is its own, also where a test asks for it.
          NODE_TEST_CONTEXT: undefined,
          // All cases: a mutant may be noticed by one of many only.
          FAULTS: 'long',
          NODE_COMPILE_CACHE: join(this.#folder, 'cache'),
          PUBLIC_VECTORS: process.env['PUBLIC_VECTORS'] ?? join(REPOSITORY, '..', 'shared', 'vectors'),
        },
      },
    );
    let hasFailed = false;
    child.stdout.on('data', (chunk: Buffer) => {
      if (!chunk.includes('X')) return;
      hasFailed = true;
      child.kill('SIGKILL');
    });
    const { code, signal } = await new Promise<{ code: number | null; signal: string | null }>(
      (resolve, reject) => {
        child.once('error', reject);
        child.once('close', (code, signal) => resolve({ code, signal }));
      },
    );
    if (hasFailed) return 'Killed';
    if (signal === 'SIGKILL' || signal === 'SIGXCPU') return 'TimedOut';
    return code === 0 ? 'Survived' : 'Killed';
  }
}
