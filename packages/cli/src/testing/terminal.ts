// The real command on a terminal of a given width, for tests: `script` of util-linux gives it one.

import { spawnSync } from 'node:child_process';
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

export function runOnTerminal(
  args: readonly string[],
  { columns = 80, env = {} }: TerminalOptions = {},
): OnTerminal {
  const words = [process.execPath, '--conditions=source', LAUNCHER, ...args].map(quoted).join(' ');
  const { status, stdout } = spawnSync(
    'script',
    ['--quiet', '--return', '--command', `stty cols ${columns}; exec ${words}`, '/dev/null'],
    { env: { ...bareEnvironment(), TERM: 'xterm', ...env }, encoding: 'utf8', input: '' },
  );
  return { code: status, shown: stdout.replaceAll('\r\n', '\n') };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
