// tallystick token: signs a bearer token with the key of the service's own issuer and prints it, and nothing else.

import { Command } from 'commander';
import {
  type AccessOptions,
  addAccessOptions,
  type Allowed,
  allowedBy,
  tenantIn,
  tokenScopes,
} from '../access-options.ts';
import { CannotRun } from '../cannot-run.ts';
import { positiveSecondsIn } from '../output/length-of-time.ts';
import { type ConfigFileOption, dataCommand } from '../data-command.ts';

interface Options extends ConfigFileOption, AccessOptions {
  readonly subject?: string;
  readonly expiresIn: string;
}

export function tokenCommand(): Command {
  const command = new Command('token')
    .summary('make a bearer token')
    .description(
      'Makes a bearer token and prints it. It is signed with a key in the data directory, which is made if there ' +
        'is none; the service, whether it runs or not, believes it until it expires.\n' +
        'Exit code 0: done. 1: it could not be done. 2: the command line or the settings are wrong.',
    )
    .requiredOption('--tenant <tenant>', 'whose data it is for');
  addAccessOptions(command)
    .option(
      '--subject <subject>',
      'who it is for: goes into the log as token:tallystick#<subject> (default: cli and its rights, as in cli-operator)',
    )
    .option('--expires-in <time>', 'how long it works, 24h at most', '1h');
  return dataCommand<Options>(command, async (server, config, options) => {
    const allowed = allowedBy(options);
    const { token, newKeyIn } = await server.makeToken(config, {
      tenant: tenantIn(options.tenant),
      subject: options.subject === undefined ? subjectOf(allowed) : subjectIn(options.subject),
      roles: allowed.roles,
      scopes: tokenScopes(allowed),
      clearance: allowed.clearance,
      lifetimeSeconds: lifetimeIn(options.expiresIn, server.TOKEN_LIFETIME_SECONDS_MAX),
    });
    if (newKeyIn !== undefined) {
      process.stderr.write(`tallystick: made the key that signs tokens, in ${newKeyIn}\n`);
    }
    process.stdout.write(`${token}\n`);
  });
}

function lifetimeIn(text: string, secondsMax: number): number {
  const seconds = positiveSecondsIn(text, '--expires-in');
  if (seconds <= secondsMax) return seconds;
  throw new CannotRun(
    `--expires-in is ${text}; at most ${secondsMax / 3600}h, because a token cannot be revoked: for longer, make a key (tallystick keys create)`,
  );
}

/**
 * Tokens of one subject are one caller, and a caller may learn that it repeats what it sent. Tokens that see different things
 * must not be one by default.
 */
function subjectOf({ roles, clearance }: Allowed): string {
  return ['cli', ...roles.toSorted(), ...(clearance === undefined ? [] : [clearance])]
    .join('-')
    .toLowerCase();
}

function subjectIn(text: string): string {
  if (/^[^\p{Cc}\p{Cs}]{1,512}$/u.test(text)) return text;
  throw new CannotRun('--subject is 1 to 512 characters, without control characters');
}
