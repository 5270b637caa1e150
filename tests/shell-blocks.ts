// Runs the shell commands of a document as they are printed, in one shell and in their order, against a service that
// was started as the README says. Only the address differs, and what `npm ci` does has been done before.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { readText, ROOT } from './source.ts';

const ADDRESS = 'http://127.0.0.1:8080';
/** However slow the machine is. */
const READY_MS = 120_000;
/** A document may wait for something that never comes. */
const RUN_MS = 300_000;
const BETWEEN = '-- next block --';

/** The blocks marked `sh`, in their order. */
export function shellBlocks(document: string): string[] {
  return [...readText(document).matchAll(/```sh\n([\s\S]*?)```/g)].map((block) => block[1]!.trim());
}

/** By the number of a block marked `sh`: the block right behind it that shows its answer, as JSON or as text. */
export function shownAnswers(
  document: string,
): Map<number, { readonly isJson: boolean; readonly text: string }> {
  const shown = new Map<number, { readonly isJson: boolean; readonly text: string }>();
  let blocks = 0;
  for (const [, language, text] of readText(document).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (language === 'sh') blocks++;
    else if (blocks > 0 && !shown.has(blocks - 1))
      shown.set(blocks - 1, { isJson: language === 'json', text: text! });
  }
  return shown;
}

export interface StartedService extends AsyncDisposable {
  /** Runs the blocks in one shell; gives what each of them printed. */
  run(blocks: readonly string[]): string[];
}

/**
 * Starts what `npm start` starts, and gives the blocks an `npx` that starts what npx does: both load npm first, which takes
 * longer than the command. The README's blocks show that both work.
 */
export async function startWithoutNpm(
  settings: Readonly<Record<string, string>> = {},
): Promise<StartedService> {
  const bin = mkdtempSync(join(tmpdir(), 'tallystick-bin-'));
  symlinkSync(process.execPath, join(bin, 'node'));
  const launcher = join(ROOT, 'packages/cli/bin/tallystick.js');
  const flags = '--conditions=source --disable-warning=ExperimentalWarning';
  const npx = `#!/bin/sh\n[ "$1" = tallystick ] && shift && exec node ${flags} '${launcher}' "$@"\n`;
  writeFileSync(join(bin, 'npx'), npx, { mode: 0o755 });
  const { scripts } = JSON.parse(readText('package.json')) as { scripts: { start: string } };
  const PATH = `${bin}${delimiter}${process.env['PATH']}`;
  const service = await startByCommand(scripts.start.replace(/^exec /, ''), { ...settings, PATH });
  return {
    run: (blocks) => service.run(blocks),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      rmSync(bin, { recursive: true });
    },
  };
}

/** Starts the service by that command, on a free port and a data directory of its own. */
export async function startByCommand(
  command: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<StartedService> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'tallystick-docs-'));
  const env = { ...process.env, ...settings, Server__Port: '0', Storage__DataDirectory: dataDirectory };
  const child = spawn('sh', ['-c', `exec ${command}`], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stopped = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    const address = /address\s+(http:\S+)/.exec(said)?.[1];
    if (address !== undefined) resolve(address);
  });
  child.once('exit', (code) => reject(new Error(`exited with ${code} before it was ready: ${said}`)));
  const timer = setTimeout(() => reject(new Error(`not ready after ${READY_MS} ms: ${said}`)), READY_MS);
  const address = await promise.finally(() => clearTimeout(timer));
  return {
    run(blocks) {
      const script = blocks.join(`\necho '${BETWEEN}'\n`).replaceAll(ADDRESS, address);
      const printed = execFileSync('bash', ['-ec', script], {
        cwd: ROOT,
        encoding: 'utf8',
        env,
        timeout: RUN_MS,
      });
      return printed.split(BETWEEN);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      const code = await stopped;
      rmSync(dataDirectory, { recursive: true, force: true });
      if (code !== 0) throw new Error(`the service ended with ${code}`);
    },
  };
}
