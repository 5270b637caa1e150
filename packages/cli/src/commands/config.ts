// tallystick config: prints the settings that hold here, and where each comes from.

import { Command } from 'commander';
import { complain } from '../output/complain.ts';
import { type ConfigFileOption, configFileOption } from '../data-command.ts';

interface Options extends ConfigFileOption {
  readonly json?: true;
}

export function configCommand(): Command {
  return new Command('config')
    .summary('print the settings that hold')
    .description(
      'Prints every setting as it holds here, from the settings file and the environment, and its source.\n' +
        'Secrets are masked. Wrong settings are listed, one line each, with exit code 2.',
    )
    .addOption(configFileOption())
    .option('--json', 'print JSON in the form of the settings file')
    .action(printSettings);
}

async function printSettings(options: Options): Promise<void> {
  const { ConfigError, EXIT, loadSettings, showAsJson, showAsText } = await import('@tallystick/server');
  try {
    const { settings } = loadSettings({ configFile: options.config });
    process.stdout.write(options.json ? showAsJson(settings) : showAsText(settings));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) complain(problem);
    process.exitCode = EXIT.wrongSettings;
  }
}
