// The option by which every command that needs settings finds them, the same way as the service does.

import { Option } from 'commander';

export interface ConfigFileOption {
  readonly config?: string;
}

export function configFileOption(): Option {
  return new Option('-c, --config <file>', 'settings file (default: tallystick.json, if there is one)');
}
