// Runs one command line and sets the exit code: 0 done; 1 failed; 2 the command line or the settings are wrong.

import { CommanderError } from 'commander';
import { EXIT } from './cannot-run.ts';
import { complain } from './output/complain.ts';
import { makeProgram } from './program.ts';
import { settingHint } from './setting-hint.ts';
import { WrongUsage } from './usage.ts';

export async function runCommand(args: readonly string[]): Promise<void> {
  try {
    await makeProgram().parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof WrongUsage) {
      complain(`${error.message}${await settingHint(error)} (${error.calledBy} --help says more)`);
      process.exitCode = EXIT.wrongUsage;
    } else {
      // Help and the version end here, too.
      if (!(error instanceof CommanderError)) throw error;
      process.exitCode = error.exitCode === 0 ? 0 : EXIT.wrongUsage;
    }
  }
}
