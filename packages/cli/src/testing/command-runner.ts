// The process in which most commands of a test process run, one after another (command-process.ts).

import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { CommandLine, CommandResult } from './command-process.ts';

const PROGRAM = join(import.meta.dirname, 'command-process.ts');

/** These listen for signals of their own process. */
const LASTING = ['serve', 'witness'];
const started = new Set<string>();
let child: ChildProcess | undefined;
let isBusy = false;

/** The first of each kind is a process of its own. So is one beside another, and one with settings for Node itself. */
export function mayShareProcess(args: readonly string[], env: Readonly<Record<string, string>>): boolean {
  const [name = ''] = args;
  if (isBusy || LASTING.includes(name) || Object.keys(env).some((each) => each.startsWith('NODE_')))
    return false;
  if (started.has(name)) return true;
  started.add(name);
  return false;
}

export async function runInSharedProcess(line: CommandLine): Promise<CommandResult> {
  isBusy = true;
  const process = (child ??= startProcess(line.env));
  const { channel } = process;
  process.ref();
  channel?.ref();
  using listening = new DisposableStack();
  try {
    return await new Promise<CommandResult>((resolve, reject) => {
      const onEnd = (code: number | null) => {
        child = undefined;
        reject(new Error(`the process of the commands ended with ${code} in: ${line.args.join(' ')}`));
      };
      process.once('message', resolve);
      process.once('exit', onEnd);
      listening.defer(() => process.off('message', resolve).off('exit', onEnd));
      process.send(line);
    });
  } finally {
    process.unref();
    channel?.unref();
    isBusy = false;
  }
}

/** It ends with this process, as its channel does. */
function startProcess(env: CommandLine['env']): ChildProcess {
  return fork(PROGRAM, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: ['--conditions=source', '--disable-warning=ExperimentalWarning'],
    env,
  });
}
