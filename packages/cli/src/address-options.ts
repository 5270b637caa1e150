// Which service a command asks, for which tenant, and what it logs in with: the same options of every command that asks one,
// with the same defaults from the environment. Throws CannotRun.

import type { Version } from '@tallystick/contract';
import type { Command } from 'commander';
import { tenantIn } from './access-options.ts';
import { CannotRun } from './cannot-run.ts';
import { apiKeyIn, plainAddress } from './fetch-bytes.ts';
import { splitVersion } from './served-version.ts';

export interface ServiceOptions {
  readonly tenant: string;
  readonly url?: string;
  readonly apiKey?: string;
}

export interface ServiceAccess {
  /** Of the service, without version and without a slash at its end. */
  readonly address: string;
  /** The first one to ask by. */
  readonly version: Version;
  readonly tenant: string;
  readonly apiKey: string | undefined;
}

const URL_DEFAULT = 'http://127.0.0.1:8080';

/** `whose` says what of the tenant the command is about. */
export function addServiceOptions(command: Command, whose: string): Command {
  return addAddressOptions(command.requiredOption('--tenant <tenant>', whose));
}

/** For a command that may do without a tenant. */
export function addAddressOptions(command: Command): Command {
  return command
    .option('--url <address>', `of the service (default: TALLYSTICK_URL, or ${URL_DEFAULT})`)
    .option('--api-key <key>', 'what to log in with (default: TALLYSTICK_API_KEY)');
}

/** An empty variable is what is left of one that was never set. */
export function serviceIn({ url, tenant, apiKey }: ServiceOptions): ServiceAccess {
  const text = url || process.env['TALLYSTICK_URL'] || URL_DEFAULT;
  if (!/^https?:\/\//i.test(text)) {
    throw new CannotRun(
      `${JSON.stringify(text.slice(0, 200))} is no address of a service: it begins with https:// or http://`,
    );
  }
  const { base, version } = splitVersion(plainAddress(text, 'a service'));
  return { address: base, version, tenant: tenantIn(tenant), apiKey: apiKeyIn(apiKey) };
}
