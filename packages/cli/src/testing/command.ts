// The real command in a process of its own, for tests.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mayShareProcess, runInSharedProcess } from './command-runner.ts';

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
  /** Where it runs, in place of a folder of its own. */
  readonly folder?: string;
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
  const place = folderOf(options);
  const { folder } = place;
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
      place[Symbol.dispose]();
    },
  };
}

/** In an empty folder, too. Only the first of a kind is a process of its own, if nothing is said of how to start it. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { env = {}, node, flags, launcher } = options;
  const isPlain = node === undefined && flags === undefined && launcher === undefined;
  if (isPlain && mayShareProcess(args, env)) {
    using place = folderOf(options);
    const line = { args, folder: place.folder, env: { ...bareEnvironment(), ...env } };
    return { ...(await runInSharedProcess(line)), signal: null };
  }
  await using command = start(args, options);
  return await command.ended;
}

function folderOf({ folder, files = {} }: RunOptions): Disposable & { readonly folder: string } {
  const place = folder ?? mkdtempSync(join(tmpdir(), 'tallystick-cli-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  return {
    folder: place,
    [Symbol.dispose]() {
      if (folder === undefined) rmSync(place, { recursive: true, force: true });
    },
  };
}

/** Starts the service on a free port and waits until it is ready. */
export async function serve(options: RunOptions = {}): Promise<Running & { readonly port: number }> {
  const running = start(['serve'], { ...options, env: { Server__Port: '0', ...options.env } });
  const [, port] = await running.prints(/http:\/\/127\.0\.0\.1:(\d+)\n.*\n/);
  return Object.assign(running, { port: Number(port) });
}
