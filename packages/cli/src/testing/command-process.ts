// Runs one command after another in this process, for tests: to start Node and to load the command takes many times as long as
// most commands do. Each has its own folder, environment, output and exit code, as in a process of its own.

import { Writable } from 'node:stream';
import { runCommand } from '../run-command.ts';

export interface CommandLine {
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Captured extends Writable {
  text = '';

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

process.on('message', (line: CommandLine) => void run(line).then((result) => process.send!(result)));
process.on('disconnect', () => process.exit());

async function run({ args, folder, env }: CommandLine): Promise<CommandResult> {
  process.chdir(folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  const [stdout, stderr] = [new Captured(), new Captured()];
  Object.defineProperty(process, 'stdout', { value: stdout, configurable: true });
  Object.defineProperty(process, 'stderr', { value: stderr, configurable: true });
  process.exitCode = 0;
  try {
    await runCommand(args);
  } catch (error) {
    // As Node ends a process.
    stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  }
  const code = process.exitCode;
  process.exitCode = 0;
  process.chdir('/');
  await closeConnections();
  return { code, stdout: stdout.text, stderr: stderr.text };
}

const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/** No command uses those of an earlier one. */
async function closeConnections(): Promise<void> {
  const used = Reflect.get(globalThis, DISPATCHER) as { destroy: () => Promise<void> } | undefined;
  if (used === undefined) return;
  await used.destroy();
  Reflect.set(globalThis, DISPATCHER, Reflect.construct(used.constructor, []));
}
