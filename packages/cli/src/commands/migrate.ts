// tallystick migrate: brings the data directory of a stopped service up to this version of the program.

import { Command } from 'commander';
import { type ConfigFileOption, configFileOption } from '../config-file-option.ts';
import { runWithSettings } from '../run-with-settings.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .summary('bring the data up to this version')
    .description(
      'Brings the data directory up to this version of the program, in one transaction, and says from which version\n' +
        'to which. The service does the same when it starts; stop it first, unless there is nothing to do.\n' +
        'Exit code 0: done, or nothing to do. 1: it could not be done. 2: the settings are wrong.',
    )
    .addOption(configFileOption())
    .action(async (options: ConfigFileOption) => {
      process.exitCode = await runWithSettings(options, async (server, config) => {
        const { from, to } = server.migrate(config);
        const { dataDirectory } = config.storage;
        const line =
          from === to
            ? `${dataDirectory} has schema version ${to} already`
            : `${dataDirectory} is brought from schema version ${from} to ${to}`;
        process.stdout.write(`${line}\n`);
      });
    });
}
