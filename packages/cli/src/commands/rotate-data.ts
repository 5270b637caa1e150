// tallystick keys rotate-data: makes a new key of the keyring, and seals the keys of all tenants with it, also while the service runs.

import { Command } from 'commander';
import { type ConfigFileOption, dataCommand } from '../data-command.ts';

export function rotateDataCommand(): Command {
  const command = new Command('rotate-data')
    .summary('make a new key for encryption at rest')
    .description(
      'Makes a new key of the keyring, and seals the keys of all tenants with it. New events are encrypted with new data ' +
        'keys; what is stored stays as it is, and is read with the old ones. A run that was cut short is repeated.',
    );
  return dataCommand<ConfigFileOption>(command, async (server, config) => {
    const { ringKey, tenants, keys } = await server.rotateData(config);
    process.stdout.write(
      `the new key of the keyring is ${ringKey}\n` +
        `${keys === 1 ? '1 key' : `${keys} keys`} of ${tenants === 1 ? '1 tenant' : `${tenants} tenants`} are sealed with it\n` +
        'Copy the keyring to where you keep its copies: it belongs into no backup of the events.\n',
    );
  });
}
