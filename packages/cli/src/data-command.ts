// Runs a command that works on the data directory of the service, with the service's own settings. Gives the exit
// code: 0 done; 1 it could not be done; 2 the command line or the settings are wrong. One line says what and why.

import { AuditError } from '@tallystick/contract';
import { CannotRun } from './cannot-run.ts';
import { complain } from './complain.ts';
import type { ConfigFileOption } from './config-file-option.ts';

/** The service's package, loaded when a command needs it, so that the others do not wait for it. */
export type Server = typeof import('@tallystick/server');
export type Config = ReturnType<Server['loadSettings']>['config'];

const EXIT = { done: 0, failed: 1, wrongUsage: 2 } as const;

export async function runWithSettings(
  { config: configFile }: ConfigFileOption,
  work: (server: Server, config: Config) => Promise<void>,
  /** Settings by options of the command. */
  given: Readonly<Record<string, string>> = {},
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

/** To whoever runs the machine the cause is no secret. */
function withCause({ message, cause }: AuditError): string {
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}
