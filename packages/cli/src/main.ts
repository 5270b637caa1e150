// The command: reads the command line, runs one command, sets the exit code. Each command has a file of its own
// in commands/ and is added here. Exit codes: 0 done; 1 failed; 2 the command line or the settings are wrong.

import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { backupCommand } from './commands/backup.ts';
import { bundleCommand } from './commands/bundle.ts';
import { configCommand } from './commands/config.ts';
import { copyCommand } from './commands/copy.ts';
import { keysCommand } from './commands/keys.ts';
import { migrateCommand } from './commands/migrate.ts';
import { recoverCommand } from './commands/recover.ts';
import { searchCommand } from './commands/search.ts';
import { serveCommand } from './commands/serve.ts';
import { tokenCommand } from './commands/token.ts';
import { verifyCommand } from './commands/verify.ts';
import { witnessCommand } from './commands/witness.ts';

const WRONG_USAGE = 2;

// Read, not imported: sources and build both stand one level below the manifest.
const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
const { version } = JSON.parse(manifest) as { version: string };

const program = new Command('tallystick')
  .description('A multi-tenant, tamper-evident audit trail.')
  .version(version)
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError('(tallystick --help shows all commands)')
  .exitOverride();

const commands = [
  serveCommand(),
  keysCommand(),
  tokenCommand(),
  searchCommand(),
  verifyCommand(),
  bundleCommand(),
  witnessCommand(),
  configCommand(),
  backupCommand(),
  migrateCommand(),
  copyCommand(),
  recoverCommand(),
];
for (const command of commands) {
  program.addCommand(command.copyInheritedSettings(program));
  for (const part of command.commands) part.copyInheritedSettings(command);
}

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE;
}
