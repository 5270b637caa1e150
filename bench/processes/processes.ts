// Starts what a benchmark of the whole service needs, each in a process of its own on loopback, and ends it again.

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Filled, Filling } from './fill.ts';
import type { Stoppable } from '../turns.ts';
import type { GrpcLoad } from './grpc-load.ts';
import type { Load } from './load.ts';
import type { LoadSeen } from './observed.ts';
import type { StagedCopy } from './staged-copy.ts';
import type { SteadyLoad, SteadyLoadSeen } from './steady-load.ts';

export const ADMIN_KEY = 'bench-admin-key-of-this-run-only';
const COMMAND = join(import.meta.dirname, '../../packages/cli/bin/tallystick.js');
const PEERS = join(import.meta.dirname, '../peers');
const NODE = [process.execPath, '--conditions=source', '--no-warnings'] as const;

export interface Running extends AsyncDisposable, Stoppable {
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
    // On PostgreSQL it then needs no place for the anchor but the data directory.
    Environment: 'Test',
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

/** A server that somebody else would have written, which stores in this database. */
export function startPeer(file: string, databaseUrl: string): Promise<Running> {
  return start([...NODE, join(PEERS, file), databaseUrl], /^(\d+)$/m, process.env);
}

export function applyLoad(load: Load): Promise<LoadSeen> {
  return outcome(startClient('load.ts', load));
}

export function applyGrpcLoad(load: GrpcLoad): Promise<LoadSeen> {
  return outcome(startClient('grpc-load.ts', load));
}

export function applyStagedCopy(copy: StagedCopy): Promise<LoadSeen> {
  return outcome(startClient('staged-copy.ts', copy));
}

export function fill(filling: Filling): Promise<Filled> {
  return outcome(startClient('fill.ts', filling));
}

export interface RunningSteadyLoad extends AsyncDisposable {
  end(): Promise<SteadyLoadSeen>;
}

/** Resolves when it has made its requests and begins to send them. */
export async function startSteadyLoad(load: SteadyLoad): Promise<RunningSteadyLoad> {
  const client = startClient('steady-load.ts', load);
  await new Promise<void>((resolve, reject) => {
    client.child.stdout.once('data', () => resolve());
    client.child.once('exit', (code) => reject(new Error(`the load ended with ${code} before it began`)));
  });
  return {
    end() {
      client.child.stdin.end();
      return outcome(client);
    },
    async [Symbol.asyncDispose]() {
      client.child.stdin.end();
      await exited(client.child);
    },
  };
}

interface Client {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly output: () => string;
}

function startClient(file: string, settings: object): Client {
  const args = [...NODE.slice(1), join(import.meta.dirname, file), JSON.stringify(settings)];
  const child = spawn(NODE[0], args, { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += String(chunk)));
  return { child, output: () => output };
}

/** The last line that a client prints. */
async function outcome<T>({ child, output }: Client): Promise<T> {
  const code = await exited(child);
  if (code !== 0) throw new Error(`${child.spawnargs.at(-2)} ended with ${code}`);
  return JSON.parse(output().trimEnd().split('\n').at(-1)!) as T;
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
    freeze: () => signalled(child, 'SIGSTOP'),
    thaw: () => signalled(child, 'SIGCONT'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await exited(child);
    },
  };
}

function signalled(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  return Promise.resolve();
}

function exited(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  // Not `exit`: what it printed last may come after that.
  return new Promise((resolve) => child.once('close', resolve));
}
