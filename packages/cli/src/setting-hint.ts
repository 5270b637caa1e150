// What an unknown option was probably meant to be: a setting, such as Server__Port for `serve --port`.

import type { WrongUsage } from './usage.ts';

/** Goes on after the message; empty where nothing is to be said. */
export async function settingHint({ message, command }: WrongUsage): Promise<string> {
  const option = /^unknown option '--([\w-]{3,})(?:=.*)?'$/.exec(message)?.[1];
  const takesSettings = command.options.some(({ long }) => long === '--config');
  if (option === undefined || !takesSettings) return '';
  const settings = await settingsLike(option);
  return settings.length === 0 || settings.length > NAMED_MAX
    ? ''
    : `; did you mean the setting ${settings.join(' or ')}, in the environment or the settings file?`;
}

/** Where more begin alike, it is anybody's guess. */
const NAMED_MAX = 2;

/** Those whose own name begins so. */
async function settingsLike(option: string): Promise<string[]> {
  const wanted = lettersOf(option);
  return (await settingNames()).filter(
    (name) => lettersOf(name) === wanted || lettersOf(name.split('__').at(-1)!).startsWith(wanted),
  );
}

async function settingNames(): Promise<string[]> {
  const { ConfigError, loadSettings } = await import('@tallystick/server');
  try {
    return loadSettings({}).settings.map(({ name }) => name);
  } catch (error) {
    // The command line is what is refused here, not the settings.
    if (error instanceof ConfigError) return [];
    throw error;
  }
}

function lettersOf(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}
