// tallystick migrate: brings the data directory of a stopped service, or the database of one, up to this version of the
// program.

import { Command } from 'commander';
import { type ConfigFileOption, configFileOption } from '../config-file-option.ts';
import { runWithSettings } from '../run-with-settings.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .summary('bring the data up to this version')
    .description(
      'Brings the data directory up to this version of the program, in one transaction, and says from which version\n' +
        'to which. The service does the same when it starts; stop it first, unless there is nothing to do.\n' +
        'With Storage__Url it is that database: its tables are made with the credential of Storage__OwnerUrl, if that is\n' +
        'given, and the user of Storage__Url gets the rights to serve, which are less.\n' +
        'Exit code 0: done, or nothing to do. 1: it could not be done. 2: the settings are wrong.',
    )
    .addOption(configFileOption())
    .action(async (options: ConfigFileOption) => {
      process.exitCode = await runWithSettings(options, async (server, config) => {
        const { place, from, to, servedBy } = await server.migrate(config);
        const line =
          from === to
            ? `${place} has schema version ${to} already`
            : `${place} is brought from schema version ${from} to ${to}`;
        const rights = servedBy === undefined ? '' : `the user ${servedBy} may serve it\n`;
        process.stdout.write(`${line}\n${rights}`);
      });
    });
}
