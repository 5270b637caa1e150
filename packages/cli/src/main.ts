// The command: reads the command line, runs one command, sets the exit code. Exit codes: 0 done; 1 failed; 2 the command
// line or the settings are wrong.

import { CommanderError } from 'commander';
import { makeProgram } from './program.ts';

const WRONG_USAGE = 2;

try {
  await makeProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
}
