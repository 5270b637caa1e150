// What an unknown option was probably meant to be: a setting, such as Server__Port for `serve --port`.

import type { WrongUsage } from './usage.ts';

/** Goes on after the message; empty where nothing is to be said. */
export async function settingHint({ message, command }: WrongUsage): Promise<string> {
  const option = /^unknown option '--([\w-]{3,})(?:=.*)?'$/.exec(message)?.[1];
  const takesSettings = command.options.some(({ long }) => long === '--config');
  if (option === undefined || !takesSettings) return '';
  const setting = await settingLike(option);
  return setting === undefined
    ? ''
    : `; did you mean the setting ${setting}, in the environment or the settings file?`;
}

/** The one setting whose own name begins so; undefined where there are several, or none. */
async function settingLike(option: string): Promise<string | undefined> {
  const wanted = lettersOf(option);
  const found = (await settingNames()).filter(
    (name) => lettersOf(name) === wanted || lettersOf(name.split('__').at(-1)!).startsWith(wanted),
  );
  return found.length === 1 ? found[0] : undefined;
}

async function settingNames(): Promise<string[]> {
  const { ConfigError, loadSettings } = await import('@tallystick/server');
  try {
    return loadSettings({}).settings.flatMap(({ name, inEffect }) => (inEffect ? [name] : []));
  } catch (error) {
    // The command line is what is refused here, not the settings.
    if (error instanceof ConfigError) return [];
    throw error;
  }
}

function lettersOf(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}
