// The real service in a process of its own, to be killed, stopped, starved and started again on one data directory.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const KEY = 'the-platform-key-of-the-fault-tests';
export const COMMAND = join(import.meta.dirname, '../../packages/cli/bin/tallystick.js');

export interface Service extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves with the exit code, or with the signal that ended it. */
  readonly ended: Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
  /** Everything it wrote to standard error so far. */
  diagnostics(): string;
}

export interface Start {
  readonly dataDirectory: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A program and its arguments, to be run around the service. */
  readonly around?: readonly string[];
  /** In place of the command `serve`. */
  readonly script?: string;
}

export async function startService({
  dataDirectory,
  env = {},
  around = [],
  script,
}: Start): Promise<Service> {
  const serve = script === undefined ? [COMMAND, 'serve'] : [script];
  const [program, ...args] = [...around, process.execPath, '--conditions=source', ...serve];
  const child = spawn(program!, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      Server__Port: '0',
      Storage__DataDirectory: dataDirectory,
      TALLYSTICK_ADMIN_KEY: KEY,
      // On PostgreSQL it then needs no place for the anchor but the data directory.
      Environment: 'Test',
      ...env,
    },
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += String(chunk)));
  const ended = endOf(child);
  const url = await addressOf(child, () => errors);
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid!,
    ended,
    kill: (signal) => void child.kill(signal),
    diagnostics: () => errors,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function addressOf(child: ChildProcess, errors: () => string): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      output += String(chunk);
      const address = /address\s+(http:\S+)/.exec(output)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${output}${errors()}`)));
  });
}

function endOf(child: ChildProcess): Promise<number | string> {
  // By then all that it wrote has been read, too.
  return new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 0)));
}

/** A folder that is gone at the end. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'tallystick-faults-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
