// tallystick keys: makes, lists, rotates and revokes API keys in the data directory, also while the service runs; the
// signing key is rotated by rotate-signing.ts.
// A key that is made goes to standard output alone, so that scripts can take it; the rest goes to standard error.

import { EXPECTED_OF_FORMAT, isNetwork, LIMITS, ULID_PATTERN } from '@tallystick/contract';
import type { ApiKeyRecord, MadeKey } from '@tallystick/server';
import { Command } from 'commander';
import {
  type AccessOptions,
  addAccessOptions,
  allowedBy,
  tenantIn,
  uselessScopes,
} from '../access-options.ts';
import { CannotRun } from '../cannot-run.ts';
import { warn } from '../output/complain.ts';
import { keysAsTable } from '../keys-report.ts';
import { positiveSecondsIn, secondsIn } from '../output/length-of-time.ts';
import { type ConfigFileOption, dataCommand } from '../data-command.ts';
import { rewrapCommand } from './rewrap.ts';
import { rotateDataCommand } from './rotate-data.ts';
import { rotateSigningCommand } from './rotate-signing.ts';

interface CreateOptions extends ConfigFileOption, AccessOptions {
  readonly name: string;
  readonly expiresIn?: string;
  readonly network: readonly string[];
}

interface ListOptions extends ConfigFileOption {
  readonly tenant?: string;
  readonly json?: true;
}

interface RotateOptions extends ConfigFileOption {
  readonly grace: string;
}

export function keysCommand(): Command {
  return new Command('keys')
    .summary('make, list, rotate and revoke API keys; rotate the signing key and the keyring')
    .description(
      'Works on API keys, on the key that signs checkpoints and on the keyring, in the data directory of the service, whether it runs ' +
        'or not.\n' +
        'Exit code 0: done. 1: it could not be done. 2: the command line or the settings are wrong.',
    )
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(rotateCommand())
    .addCommand(revokeCommand())
    .addCommand(rotateSigningCommand())
    .addCommand(rotateDataCommand())
    .addCommand(rewrapCommand());
}

function createCommand(): Command {
  const command = new Command('create')
    .summary('make an API key')
    .description('Makes an API key and prints it. It is shown this once: only its hash is kept.')
    .requiredOption('--tenant <tenant>', "whose key it is; '*' for a platform key");
  addAccessOptions(command)
    .option('--name <name>', 'for people, in lists', 'command line')
    .option('--expires-in <time>', 'how long it works, such as 90d (default: until it is revoked)')
    .option(
      '--network <network>',
      'from where it may be used: an address, or a network such as 10.0.0.0/8; may be repeated (default: anywhere)',
      networkIn,
      [],
    );
  return dataCommand<CreateOptions>(command, async (server, config, options) => {
    const allowed = allowedBy(options);
    const lifetimeSeconds =
      options.expiresIn === undefined ? undefined : positiveSecondsIn(options.expiresIn, '--expires-in');
    const made = await server.createKey(config, {
      ...allowed,
      tenantId: tenantOrAll(options.tenant),
      name: nameIn(options.name),
      lifetimeMs: lifetimeSeconds === undefined ? undefined : lifetimeSeconds * 1000,
      allowedNetworks: options.network.length === 0 ? undefined : options.network,
    });
    const useless = uselessScopes(allowed);
    if (useless !== undefined) warn(useless);
    show(made);
  });
}

function listCommand(): Command {
  const command = new Command('list')
    .summary('list API keys')
    .description('Lists API keys, the oldest first, without their secrets.')
    .option('--tenant <tenant>', "only those of this tenant; '*' for platform keys")
    .option('--json', 'print JSON');
  return dataCommand<ListOptions>(command, async (server, config, options) => {
    const tenant = options.tenant === undefined ? undefined : tenantOrAll(options.tenant);
    const keys = await server.listKeys(config, tenant);
    process.stdout.write(options.json ? `${JSON.stringify(keys, null, 2)}\n` : keysAsTable(keys));
  });
}

function rotateCommand(): Command {
  const command = new Command('rotate')
    .summary('make a key in the place of another one')
    .description('Makes a key in the place of another one and prints it; the old one works on for a while.')
    .argument('<keyId>', 'the id of the old key, as in the list')
    .option('--grace <time>', 'how long the old key works on', '24h');
  return dataCommand<RotateOptions>(command, async (server, config, options, keyId) => {
    const graceSeconds = secondsIn(options.grace, '--grace');
    show(await server.rotateKey(config, keyIdIn(keyId), graceSeconds * 1000));
    process.stderr.write(`${keyIdIn(keyId)} works for another ${options.grace}\n`);
  });
}

function revokeCommand(): Command {
  const command = new Command('revoke')
    .summary('revoke a key')
    .description('Revokes a key: it is refused from the next request on.')
    .argument('<keyId>', 'the id of the key, as in the list');
  return dataCommand<ConfigFileOption>(command, async (server, config, _, keyId) => {
    await server.revokeKey(config, keyIdIn(keyId));
    process.stderr.write(`revoked ${keyIdIn(keyId)}\n`);
  });
}

function networkIn(text: string, others: readonly string[]): string[] {
  if (!isNetwork(text)) throw new CannotRun(`--network ${text}: must be ${EXPECTED_OF_FORMAT['network']}`);
  if (others.length >= LIMITS.keyNetworksMax)
    throw new CannotRun(`--network may be given ${LIMITS.keyNetworksMax} times`);
  return [...others, text];
}

function show({ key, record }: MadeKey): void {
  process.stderr.write(`${factsOf(record)}\n`);
  process.stdout.write(`${key}\n`);
}

function factsOf({ keyId, tenantId, name, roles, scopes, clearance, expiresAtMs }: ApiKeyRecord): string {
  const whose = tenantId === '*' ? 'every tenant' : `tenant ${tenantId}`;
  const end =
    expiresAtMs === undefined ? 'until it is revoked' : `until ${new Date(expiresAtMs).toISOString()}`;
  const seen = clearance === undefined ? '' : `; clearance ${clearance}`;
  return `made key ${keyId} (${name}) for ${whose}: ${[...roles, ...scopes].join(', ')}${seen}; works ${end}`;
}

function tenantOrAll(text: string): string {
  return text === '*' ? '*' : tenantIn(text);
}

function keyIdIn(text: string): string {
  const keyId = text.toUpperCase();
  if (new RegExp(ULID_PATTERN).test(keyId)) return keyId;
  // Somebody may have pasted a whole key: what was given is not shown.
  throw new CannotRun(
    'the key id is 26 characters, as `tallystick keys list` shows it; it is not the key itself',
  );
}

function nameIn(text: string): string {
  const length = [...text].length;
  if (length >= 1 && length <= LIMITS.nameLengthMax && !/\p{Cc}/u.test(text)) return text;
  throw new CannotRun(`--name is 1 to ${LIMITS.nameLengthMax} characters, without control characters`);
}
