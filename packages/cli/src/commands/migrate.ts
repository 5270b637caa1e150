// tallystick migrate: brings the data directory of a stopped service, or the database of one, up to this version of the
// program.

import { Command } from 'commander';
import { warn } from '../output/complain.ts';
import { type ConfigFileOption, dataCommand, type Server } from '../data-command.ts';

export function migrateCommand(): Command {
  const command = new Command('migrate')
    .summary('bring the data up to this version')
    .description(
      'Brings the data directory up to this version of the program, in one transaction, and says from which version ' +
        'to which. The service does the same when it starts; stop it first, unless there is nothing to do.\n' +
        'With Storage__Url it is that database: its tables are made with the credential of Storage__OwnerUrl, if that is ' +
        'given, and the user of Storage__Url gets the rights to serve, which are less; those of Storage__IndexUrl and ' +
        'Storage__RetentionUrl, if they are given, get theirs.\n' +
        'Exit code 0: done, or nothing to do. 1: it could not be done. 2: the settings are wrong.',
    );
  return dataCommand<ConfigFileOption>(command, async (server, config) => {
    const { place, from, to, users, exposure } = await server.migrate(config);
    const line =
      from === to
        ? `${place} has schema version ${to} already`
        : `${place} is brought from schema version ${from} to ${to}`;
    process.stdout.write(`${line}\n${rightsOf(users)}`);
    if (exposure !== undefined) warn(exposure);
  });
}

type Users = Awaited<ReturnType<Server['migrate']>>['users'];

/** Nothing of a data directory, which has no users. */
function rightsOf(users: Users): string {
  const may = (user: string | undefined, what: string) =>
    user === undefined ? '' : `the user ${user} may ${what}\n`;
  return [
    may(users?.Serving, 'serve it'),
    may(users?.Index, 'do what concerns all tenants'),
    may(users?.Retention, 'remove content'),
  ].join('');
}
