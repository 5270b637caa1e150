// tallystick webhooks listen: a consumer on this machine, which prints a line for each delivery until it is stopped.

import type { NewSubscription } from '@tallystick/contract';
import { Command } from 'commander';
import { addAddressOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { newChange } from '../new-change.ts';
import { warn } from '../output/complain.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import { paint } from '../output/paint.ts';
import { printable } from '../output/printable.ts';
import type { Heard } from './heard.ts';
import { type ServedWebhooks, servedWebhooks } from './served-webhooks.ts';

interface Options extends Partial<ServiceOptions> {
  readonly port: string;
  readonly secret?: string;
  readonly status: string;
  readonly create?: true;
  readonly json?: true;
}

const PORT_DEFAULT = '8095';
const STATUS_DEFAULT = '204';

export function listenCommand(): Command {
  const command = new Command('listen')
    .summary('receive deliveries on this machine')
    .description(
      'Listens on 127.0.0.1, answers every delivery, and prints a line for each, until SIGINT or SIGTERM: when it came, its type, ' +
        'its webhookId, whether it is genuine, and what it says. What is not genuine is answered with 400.\n' +
        'The service reaches it where Webhooks__AllowPrivateTargets is set, or through a tunnel of yours.',
    )
    .option('--port <port>', 'the port to listen on; 0 takes any free one', PORT_DEFAULT)
    .option(
      '--secret <secret>',
      'that of the subscription (default: TALLYSTICK_WEBHOOK_SECRET); without one, nothing is verified',
    )
    .option('--status <status>', 'what genuine deliveries are answered with, such as 500', STATUS_DEFAULT)
    .option('--create', 'subscribe to everything for as long as it listens; needs --tenant')
    .option('--tenant <tenant>', 'with --create: whose events');
  return addAddressOptions(command)
    .option('--json', 'print a delivery a line, as JSON, with what was sent')
    .action(async (options: Options) => {
      try {
        process.exitCode = await run(options);
      } catch (error) {
        process.exitCode = failedAsking(error);
      }
    });
}

async function run(options: Options): Promise<number> {
  const status = numberIn(options.status, '--status', [200, 599]);
  const port = numberIn(options.port, '--port', [0, 65_535]);
  const service = serviceOf(options);
  // Loaded here, so that other commands do not wait for the whole service.
  const server = await import('@tallystick/server');
  const { listen } = await import('./listener.ts');
  const out = lineOutput();
  const ended = endOf(out);
  let secret = options.secret || process.env['TALLYSTICK_WEBHOOK_SECRET'] || undefined;
  const { signatureHeaders, systemClock } = server;
  const listener = await listen({
    port,
    status,
    judging: () => ({ secret, nowMs: systemClock.now(), signatureHeaders }),
    tell: (heard) => void out.write([options.json ? printable(JSON.stringify(heard)) : lineOf(heard)]),
  });
  try {
    if (service === undefined) await greet(listener.url, secret, options, out);
    else {
      const made = await subscribe(service, listener.url);
      secret = made.secret;
      try {
        await greet(listener.url, secret, options, out);
        await ended;
      } finally {
        await service.remove(made.subscriptionId);
      }
    }
    await ended;
    return EXIT.done;
  } finally {
    await listener.stop();
  }
}

function serviceOf({ create, tenant, ...access }: Options): ServedWebhooks | undefined {
  if (create === undefined) return undefined;
  if (tenant === undefined) throw new CannotRun('--create needs --tenant: whose events');
  return servedWebhooks(serviceIn({ ...access, tenant }));
}

async function subscribe(service: ServedWebhooks, url: string): Promise<NewSubscription> {
  const wish = { name: `tallystick webhooks listen at ${url}`, url, eventTypes: ['*' as const] };
  return service.create(wish, await newChange());
}

/** In JSON there is a delivery a line, and nothing else. */
async function greet(
  url: string,
  secret: string | undefined,
  { json }: Options,
  out: LineOutput,
): Promise<void> {
  if (secret === undefined) warn('no secret was given: signatures are not verified');
  if (!json) await out.write([`listening at ${url}`]);
}

/** Until a signal comes, or nobody reads any more. */
function endOf({ closed }: LineOutput): Promise<void> {
  return new Promise((resolve) => {
    // Listened to until the end, because a terminal and npm may both pass on one Ctrl-C.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve());
    closed.addEventListener('abort', () => resolve());
  });
}

function lineOf({ at, webhookType, webhookId, attemptNumber = 1, verdict, summary }: Heard): string {
  const isGood = verdict === 'verified' || verdict === 'not-verified';
  const shown = paint(isGood ? 'green' : 'red', verdict);
  const again = attemptNumber > 1 ? ` (attempt ${attemptNumber})` : '';
  return `${at}  ${printable(webhookType)}  ${printable(webhookId)}  ${shown}  ${printable(summary)}${again}`;
}

function numberIn(text: string, option: string, [min, max]: readonly [number, number]): number {
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number >= min && number <= max) return number;
  throw new CannotRun(`${option} is ${JSON.stringify(text.slice(0, 80))}; it is ${min} to ${max}`);
}
