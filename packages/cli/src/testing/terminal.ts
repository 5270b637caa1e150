// The real command on a terminal of a given width, for tests: `script` of util-linux gives it one.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { bareEnvironment, LAUNCHER } from './command.ts';

/** Why a test on a terminal is skipped; false where it can run. */
export const noTerminal =
  !/util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '') &&
  'there is no `script` of util-linux';

export interface OnTerminal {
  readonly code: number | null;
  /** Standard output and standard error, as a terminal has them. */
  readonly shown: string;
}

export interface TerminalOptions {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export function runOnTerminal(args: readonly string[], options: TerminalOptions = {}): OnTerminal {
  const { words, env } = terminalCommand(args, options);
  const { status, stdout } = spawnSync('script', words, { env, encoding: 'utf8', input: '' });
  return { code: status, shown: shownIn(stdout) };
}

/** For a command that asks a service of this process, with what is typed. */
export async function typeOnTerminal(
  args: readonly string[],
  typed: string,
  options: TerminalOptions = {},
): Promise<OnTerminal> {
  const { words, env } = terminalCommand(args, options);
  const child = spawn('script', words, { env });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stdin.end(typed);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, shown: shownIn(stdout) };
}

function terminalCommand(args: readonly string[], { columns = 80, env = {} }: TerminalOptions) {
  const command = [process.execPath, '--conditions=source', LAUNCHER, ...args].map(quoted).join(' ');
  return {
    words: ['--quiet', '--return', '--command', `stty cols ${columns}; exec ${command}`, '/dev/null'],
    env: { ...bareEnvironment(), TERM: 'xterm', ...env },
  };
}

function shownIn(stdout: string): string {
  return stdout.replaceAll('\r\n', '\n');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
