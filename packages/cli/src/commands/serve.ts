// tallystick serve: runs the service until it is told to stop.

import { Command } from 'commander';
import { type ConfigFileOption, configFileOption } from '../data-command.ts';

export function serveCommand(): Command {
  return new Command('serve')
    .summary('run the service')
    .description(
      'Runs the service until it receives SIGTERM or SIGINT; then it answers what is under way and stops.\n' +
        'A second signal stops it at once.',
    )
    .addOption(configFileOption())
    .action(async ({ config }: ConfigFileOption) => {
      // Loaded here, so that other commands do not wait for the whole service.
      const { runServer } = await import('@tallystick/server');
      // Nothing that was left open may hold a service that has stopped.
      process.exit(await runServer({ configFile: config }));
    });
}
