// tallystick mcp: MCP over standard input and output, for hosts that start a program and do not ask an address. It passes
// messages on to a service and its answers back. Exit codes: 0 the host has ended it; 1 the service does not know the caller;
// 2 the command line is wrong.

import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { addAddressOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { bridge } from '../mcp/bridge.ts';
import { warn } from '../output/complain.ts';

interface McpOptions extends Omit<ServiceOptions, 'tenant'> {
  readonly tenant?: string;
  readonly token?: string;
}

export function mcpCommand(): Command {
  const command = new Command('mcp')
    .summary('speak MCP over standard input and output, for models')
    .description(
      'For hosts of models that start a program in the place of asking an address: passes what they say over standard input on to ' +
        'the service, and its answers back over standard output, a message a line. Diagnostics go to standard error. It ends ' +
        'with its input.\n' +
        'Exit code 0: ended. 1: the service does not know the caller. 2: the command line is wrong.',
    )
    .option('--tenant <tenant>', 'whose log (default: TALLYSTICK_TENANT, or that of the token)');
  return addAddressOptions(command)
    .option('--token <token>', 'a bearer token in the place of a key (default: TALLYSTICK_TOKEN)')
    .action(async (options: McpOptions) => {
      process.exitCode = await run(options);
    });
}

async function run(options: McpOptions): Promise<number> {
  try {
    const token = options.token || process.env['TALLYSTICK_TOKEN'] || undefined;
    const tenant = options.tenant || process.env['TALLYSTICK_TENANT'] || undefined;
    // Without one, the token names it.
    const { address, apiKey } = serviceIn({ ...options, tenant: tenant ?? 'none' });
    const isKnown = await bridge({
      lines: createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY }),
      say: (line) => process.stdout.write(`${line}\n`),
      tell: warn,
      url: `${address}/mcp`,
      headers: {
        ...(apiKey !== undefined && { 'X-API-Key': apiKey }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(tenant !== undefined && { 'X-Tenant-Id': tenant }),
      },
    });
    return isKnown ? EXIT.done : EXIT.failed;
  } catch (error) {
    return failedAsking(error);
  }
}
