// tallystick backup: copies the events of a data directory into a file, also while the service runs.

import { Command } from 'commander';
import { requireNewFile } from '../new-file.ts';
import { startProgress } from '../output/progress.ts';
import { type Config, type ConfigFileOption, dataCommand, type Server } from '../data-command.ts';

const MEGABYTE = 1_048_576;

export function backupCommand(): Command {
  const command = new Command('backup')
    .summary('copy the events of a data directory')
    .description(
      'Copies journal.db, which has all events, as it is at one moment, also while the service runs. Signing keys and ' +
        'the anchor are not in the copy, and are kept apart from it. A database is copied by its own means.\n' +
        'Exit code 0: done. 1: it could not be done. 2: the command line or the settings are wrong.',
    )
    .argument('<file>', 'where to; never replaces a file');
  return dataCommand<ConfigFileOption>(command, async (server, config, _, file) => {
    requireNewFile(file, 'name another');
    const { file: path, bytes } = await copyShown(server, config, file);
    const size = `${(bytes / MEGABYTE).toFixed(1)} MB`;
    process.stdout.write(
      `wrote  ${path} (${size})\nTry it: put it as journal.db into a directory with signing-keys, and run tallystick verify on that with --anchor.\n`,
    );
  });
}

/** Its progress is gone from the terminal when it is done. */
async function copyShown(server: Server, config: Config, file: string) {
  using progress = startProgress(`copying to ${file}`, 'bytes');
  return await server.backUp(config, file, ({ bytes, bytesTotal }) => progress.show(bytes, bytesTotal));
}
