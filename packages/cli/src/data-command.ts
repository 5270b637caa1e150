// Commands that work on the data of the service, with the service's own settings. Exit code: 0 done; 1 it could not be
// done; 2 the command line or the settings are wrong. One line says what and why.

import { AuditError } from '@tallystick/contract';
import { type Command, Option } from 'commander';
import { CannotRun, EXIT } from './cannot-run.ts';
import { complain } from './output/complain.ts';

/** The service's package, loaded when a command needs it, so that the others do not wait for it. */
export type Server = typeof import('@tallystick/server');
export type Config = ReturnType<Server['loadSettings']>['config'];

export interface ConfigFileOption {
  readonly config?: string;
}

/** Every command that needs settings finds them as the service does. */
export function configFileOption(): Option {
  return new Option('-c, --config <file>', 'settings file (default: tallystick.json, if there is one)');
}

/** `args` are those of the command line that are no options. */
export type Work<O> = (server: Server, config: Config, options: O, ...args: string[]) => Promise<void>;

/** Gives the command its work; `given` are the settings that its options stand for. */
export function dataCommand<O extends ConfigFileOption>(
  command: Command,
  work: Work<O>,
  given: (options: O) => Readonly<Record<string, string>> = () => ({}),
): Command {
  return command.addOption(configFileOption()).action(async () => {
    const options = command.opts<O>();
    process.exitCode = await exitCodeOf(options.config, given(options), (server, config) =>
      work(server, config, options, ...command.args),
    );
  });
}

async function exitCodeOf(
  configFile: string | undefined,
  given: Readonly<Record<string, string>>,
  work: (server: Server, config: Config) => Promise<void>,
): Promise<number> {
  const server = await import('@tallystick/server');
  try {
    await work(server, server.loadSettings({ configFile, given }).config);
    return EXIT.done;
  } catch (error) {
    if (error instanceof server.ConfigError) return fail(error.problems, EXIT.wrongUsage);
    if (error instanceof CannotRun) return fail([error.message], EXIT.wrongUsage);
    if (error instanceof server.StartError) return fail([error.message], EXIT.failed);
    if (error instanceof AuditError) return fail([withCause(error)], EXIT.failed);
    throw error;
  }
}

function fail(lines: readonly string[], exitCode: number): number {
  for (const line of lines) complain(line);
  return exitCode;
}

/** The cause is no secret to the operator of the machine. */
function withCause({ message, cause }: AuditError): string {
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}
