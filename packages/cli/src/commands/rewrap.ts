// tallystick keys rewrap: seals the keyring anew, by the provider and the key of the settings, also while the service runs.

import { Command } from 'commander';
import { type ConfigFileOption, dataCommand } from '../data-command.ts';

export function rewrapCommand(): Command {
  const command = new Command('rewrap')
    .summary('seal the keyring anew, by the provider and the key of the settings')
    .description(
      'Seals the keyring by Encryption__Provider, with the newest version of its key; Encryption__PreviousProvider says what opens it, ' +
        'where that is something else. The keys in the keyring stay as they are.',
    );
  return dataCommand<ConfigFileOption>(command, async (server, config) => {
    const { path, provider, keys } = await server.rewrapKeys(config);
    process.stdout.write(`${path} is sealed by ${provider}: ${keys === 1 ? '1 key' : `${keys} keys`}\n`);
    if (provider === 'File')
      process.stdout.write('From now on the permissions of the file are all that protects it.\n');
  });
}
