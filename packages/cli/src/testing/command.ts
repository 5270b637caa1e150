// The real command in a process of its own, for tests.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const LAUNCHER = join(import.meta.dirname, '../../bin/tallystick.js');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly ended: Promise<Ended>;
  /** Resolves with the first match in standard output; rejects if the command ends without one. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Another Node, or other flags for it. */
  readonly node?: string;
  readonly flags?: readonly string[];
  readonly launcher?: string;
  /** Files to put into the folder before the start, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * Nothing of this process: neither settings nor flags. But what is compiled and bundled already is used, without which a start
 * takes several times as long.
 */
export function bareEnvironment(): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS, TALLYSTICK_TEST_BUNDLES } = process.env;
  return { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS, TALLYSTICK_TEST_BUNDLES };
}

/** Starts the command in an empty folder. Whatever is still running is killed on disposal. */
export function start(args: readonly string[], options: RunOptions = {}): Running {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-cli-'));
  for (const [name, text] of Object.entries(options.files ?? {})) writeFileSync(join(folder, name), text);
  const { node = process.execPath, flags = ['--conditions=source'], launcher = LAUNCHER } = options;
  const env = {
    ...(node === process.execPath ? bareEnvironment() : { PATH: process.env['PATH'] }),
    ...options.env,
  };
  const child = spawn(node, [...flags, launcher, ...args], { cwd: folder, env });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });

  return {
    child,
    folder,
    ended,
    async prints(pattern) {
      const seen = new Promise<RegExpExecArray>((resolve) => {
        const look = () => {
          const match = pattern.exec(stdout);
          if (match !== null) resolve(match);
        };
        look();
        child.stdout.on('data', look);
      });
      const gone = ended.then(({ code }) => {
        throw new Error(`ended with ${code} before printing ${String(pattern)}:\n${stdout}${stderr}`);
      });
      return Promise.race([seen, gone]);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  await using command = start(args, options);
  return await command.ended;
}

/** Starts the service on a free port and waits until it is ready. */
export async function serve(options: RunOptions = {}): Promise<Running & { readonly port: number }> {
  const running = start(['serve'], { ...options, env: { Server__Port: '0', ...options.env } });
  const [, port] = await running.prints(/http:\/\/127\.0\.0\.1:(\d+)\n.*\n/);
  return Object.assign(running, { port: Number(port) });
}
