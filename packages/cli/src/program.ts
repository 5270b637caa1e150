// The command with all that it can be asked to do: each has a file of its own in commands/ and is added here.

import { readFileSync } from 'node:fs';
import { parseJson } from '@tallystick/evidence';
import { Command } from 'commander';
import { backupCommand } from './commands/backup.ts';
import { bundleCommand } from './commands/bundle.ts';
import { configCommand } from './commands/config.ts';
import { copyCommand } from './commands/copy.ts';
import { doctorCommand } from './commands/doctor.ts';
import { confirmCommand, eraseCommand } from './commands/erase.ts';
import { holdsCommand } from './commands/holds.ts';
import { redactCommand } from './commands/redact.ts';
import { keysCommand } from './commands/keys.ts';
import { mcpCommand } from './commands/mcp.ts';
import { migrateCommand } from './commands/migrate.ts';
import { policiesCommand } from './commands/policies.ts';
import { recoverCommand } from './commands/recover.ts';
import { retentionCommand } from './commands/retention.ts';
import { searchCommand } from './commands/search.ts';
import { serveCommand } from './commands/serve.ts';
import { tokenCommand } from './commands/token.ts';
import { verifyCommand } from './commands/verify.ts';
import { exportCommand } from './commands/export.ts';
import { webhooksCommand } from './commands/webhooks.ts';
import { witnessCommand } from './commands/witness.ts';
import { configureUsage } from './usage.ts';

export function makeProgram(): Command {
  const program = new Command('tallystick')
    .description('A multi-tenant, tamper-evident audit trail.')
    .version(versionOfPackage())
    // Behind a command, --version is an option of that command, or none.
    .enablePositionalOptions()
    .exitOverride();
  const commands = [
    serveCommand(),
    keysCommand(),
    tokenCommand(),
    searchCommand(),
    mcpCommand(),
    policiesCommand(),
    retentionCommand(),
    holdsCommand(),
    redactCommand(),
    eraseCommand(),
    confirmCommand(),
    exportCommand(),
    webhooksCommand(),
    verifyCommand(),
    bundleCommand(),
    witnessCommand(),
    configCommand(),
    doctorCommand(),
    backupCommand(),
    migrateCommand(),
    copyCommand(),
    recoverCommand(),
  ];
  for (const command of commands) {
    program.addCommand(command.copyInheritedSettings(program));
    for (const part of command.commands) part.copyInheritedSettings(command);
  }
  configureUsage(program, program.name());
  return program;
}

/** Read, not imported: sources and build both stand one level below the manifest. */
function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (parseJson(manifest) as { version: string }).version;
}
