// Starts what a benchmark of the whole service needs, each in a process of its own on loopback, and ends it again.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Load, LoadSeen } from './load.ts';

export const ADMIN_KEY = 'bench-admin-key-of-this-run-only';
const COMMAND = join(import.meta.dirname, '../../packages/cli/bin/tallystick.js');
const NODE = [process.execPath, '--conditions=source', '--no-warnings'] as const;

export interface Running extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** From the start of the process to its first line that says it is ready. */
  readonly readyMs: number;
}

export interface RunningService extends Running {
  readonly dataDirectory: string;
}

/** The real service, by its command, on a data directory that is gone afterwards unless it is given. */
export async function startService(
  given?: string,
  nodeOptions: readonly string[] = [],
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  const dataDirectory = given ?? mkdtempSync(join(tmpdir(), 'tallystick-bench-'));
  const env = {
    ...process.env,
    Server__Port: '0',
    Storage__DataDirectory: dataDirectory,
    Telemetry__Level: 'Warn',
    TALLYSTICK_ADMIN_KEY: ADMIN_KEY,
    ...settings,
  };
  const running = await start(
    [...NODE, ...nodeOptions, COMMAND, 'serve'],
    /address\s+http:\/\/[^:]+:(\d+)/,
    env,
  );
  return {
    ...running,
    dataDirectory,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      if (given === undefined) rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}

export function startBareRoute(): Promise<Running> {
  return start([...NODE, join(import.meta.dirname, 'bare-route.ts')], /^(\d+)$/m, process.env);
}

export async function applyLoad(load: Load): Promise<LoadSeen> {
  const child = spawn(
    NODE[0],
    [...NODE.slice(1), join(import.meta.dirname, 'load.ts'), JSON.stringify(load)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += String(chunk)));
  const code = await exited(child);
  if (code !== 0) throw new Error(`the load generator ended with ${code}`);
  return JSON.parse(output) as LoadSeen;
}

async function start(
  [command, ...args]: readonly string[],
  ready: RegExp,
  env: NodeJS.ProcessEnv,
): Promise<Running> {
  const startedAt = performance.now();
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
  let output = '';
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += String(chunk);
      const match = ready.exec(output);
      if (match !== null) resolve(Number(match[1]));
    });
    child.once('exit', (code) => reject(new Error(`${args.at(-1)} ended with ${code} before it was ready`)));
  });
  return {
    port,
    pid: child.pid!,
    readyMs: performance.now() - startedAt,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await exited(child);
    },
  };
}

function exited(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => child.once('exit', resolve));
}
