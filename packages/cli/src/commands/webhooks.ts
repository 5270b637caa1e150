// tallystick webhooks: the webhook subscriptions of a running service, and a local consumer. Exit codes: 0 done; 1 failed, or a test was
// not delivered; 2 the command line is wrong.

import {
  CLASSIFICATIONS,
  DeliveryStatus,
  EventTypeName,
  LIMITS,
  type Subscription,
  type SubscriptionConfiguration,
  SubscriptionStatus,
  ULID_PATTERN,
} from '@tallystick/contract';
import { EvidenceError, parseJson } from '@tallystick/evidence';
import { Command } from 'commander';
import { addServiceOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { NoAnswer } from '../fetch-bytes.ts';
import { namesIn, oneOf, wordsIn, wordsOf } from '../given-option.ts';
import { newChange } from '../new-change.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import { printable } from '../output/printable.ts';
import { jsonLines, type JsonOption, titledLines, writeRows } from '../output/rows.ts';
import { listenCommand } from '../webhooks/listen-command.ts';
import { type ServedWebhooks, servedWebhooks } from '../webhooks/served-webhooks.ts';
import {
  answerOf,
  DELIVERY_COLUMNS,
  SUBSCRIPTION_COLUMNS,
  subscriptionRows,
} from '../webhooks/webhook-tables.ts';

interface ListOptions extends ServiceOptions, JsonOption {
  readonly status?: string;
}

interface CreateOptions extends ServiceOptions, JsonOption {
  readonly name: string;
  readonly events: string;
  readonly filters?: string;
  readonly clearance?: string;
  readonly ordered?: true;
}

interface DeliveriesOptions extends ListOptions {
  readonly limit: string;
}

type OneOptions = ServiceOptions & JsonOption;

const SUBSCRIPTION = 'of the subscription, or its subscriptionId';

export function webhooksCommand(): Command {
  return new Command('webhooks')
    .summary('manage webhook subscriptions of a running service, and listen to one')
    .description(
      'Makes, lists and tests the webhook subscriptions of a tenant, shows their deliveries, and receives some on this machine.\n' +
        'Exit code 0: done. 1: failed, or a test was not delivered. 2: the command line is wrong.',
    )
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(testCommand())
    .addCommand(listenCommand())
    .addCommand(deliveriesCommand())
    .addCommand(redeliverCommand());
}

function listCommand(): Command {
  const command = new Command('list')
    .summary('list subscriptions, newest first')
    .description('Lists the webhook subscriptions of a tenant, with the state of their circuits.');
  return addServiceOptions(command, 'whose subscriptions')
    .option(
      '--status <statuses>',
      `only these: ${wordsOf(SubscriptionStatus).join(', ')}; several with commas`,
    )
    .option('--json', 'print a JSON list')
    .action((options: ListOptions) =>
      run(options, async (service, out) => {
        const status = wordsIn(options.status, SubscriptionStatus, 'status of subscriptions');
        await writeRows(await service.list(status), SUBSCRIPTION_COLUMNS, options, out);
        return EXIT.done;
      }),
    );
}

function createCommand(): Command {
  const command = new Command('create')
    .summary('subscribe a URL to notifications')
    .description('Subscribes a URL, and prints the secret that signs its deliveries: it is not shown again.')
    .argument('<url>', 'of the consumer; https, at a public address, unless the service allows others');
  return addServiceOptions(command, 'whose events')
    .requiredOption('--name <name>', 'what it is called')
    .option(
      '--events <types>',
      'what it is told about, several with commas; "*" is all',
      'AuditEventReceived',
    )
    .option('--filters <json>', 'which events, as in a rule: {"action":"Delete.*"}')
    .option(
      '--clearance <classification>',
      `what it may see: ${CLASSIFICATIONS.join(', ')} (default: as you)`,
    )
    .option('--ordered', 'deliver one after the other, in the order of the log')
    .option('--json', "print the service's answer, as JSON")
    .action((url: string, options: CreateOptions) =>
      run(options, async (service, out) => {
        const made = await service.create(configurationOf(url, options), await newChange());
        await out.write(options.json ? jsonLines(made) : titledLines(subscriptionRows(made)));
        return EXIT.done;
      }),
    );
}

function testCommand(): Command {
  const command = new Command('test')
    .summary('send a test notification now')
    .description(
      'Sends one test notification to a subscription, paused or not, and says how it was answered.',
    )
    .argument('<name>', SUBSCRIPTION);
  return addServiceOptions(command, 'whose subscription')
    .option('--json', "print the service's answer, as JSON")
    .action((wanted: string, options: OneOptions) =>
      run(options, async (service, out) => {
        const { subscriptionId } = await subscriptionNamed(wanted, service);
        const told = await service.test(subscriptionId, await newChange());
        const { delivered, attempt } = told;
        const line = `${delivered ? 'delivered' : 'NOT delivered'}: ${answerOf(attempt)} after ${attempt.latencyMs} ms`;
        await out.write(options.json ? jsonLines(told) : [printable(line)]);
        return delivered ? EXIT.done : EXIT.failed;
      }),
    );
}

function deliveriesCommand(): Command {
  const command = new Command('deliveries')
    .summary('list deliveries of a subscription, newest first')
    .description('Lists the deliveries of a subscription, with what came of their attempts.')
    .argument('<name>', SUBSCRIPTION);
  return addServiceOptions(command, 'whose subscription')
    .option('--status <statuses>', `only these: ${wordsOf(DeliveryStatus).join(', ')}; several with commas`)
    .option('--limit <n>', 'so many at most', '50')
    .option('--json', 'print a JSON list, with all attempts')
    .action((wanted: string, options: DeliveriesOptions) =>
      run(options, async (service, out) => {
        const status = wordsIn(options.status, DeliveryStatus, 'status of deliveries');
        const limit = limitIn(options.limit);
        const { subscriptionId } = await subscriptionNamed(wanted, service);
        const deliveries = await service.deliveries(subscriptionId, limit, status);
        await writeRows(deliveries, DELIVERY_COLUMNS, options, out);
        return EXIT.done;
      }),
    );
}

function redeliverCommand(): Command {
  const command = new Command('redeliver')
    .summary('send a delivery again')
    .description(
      'Sends a delivery again under the same webhookId, from its first attempt, whatever came of it before.',
    )
    .argument('<name>', SUBSCRIPTION)
    .argument('<id>', 'webhookId of the delivery');
  return addServiceOptions(command, 'whose subscription')
    .option('--json', "print the service's answer, as JSON")
    .action((wanted: string, webhookId: string, options: OneOptions) =>
      run(options, async (service, out) => {
        const { subscriptionId } = await subscriptionNamed(wanted, service);
        const delivery = await service.redeliver(subscriptionId, webhookId, await newChange());
        const line = `${delivery.webhookId} is ${delivery.status}`;
        await out.write(options.json ? jsonLines(delivery) : [printable(line)]);
        return EXIT.done;
      }),
    );
}

async function run(
  options: ServiceOptions,
  work: (service: ServedWebhooks, out: LineOutput) => Promise<number>,
): Promise<void> {
  try {
    process.exitCode = await work(servedWebhooks(serviceIn(options)), lineOutput());
  } catch (error) {
    process.exitCode = failedAsking(error);
  }
}

function configurationOf(
  url: string,
  { name, events, filters, clearance, ordered }: CreateOptions,
): SubscriptionConfiguration {
  const types = namesIn([events]).map((type) => oneOf(wordsOf(EventTypeName), type, 'type of events'));
  return {
    name,
    url,
    eventTypes: types as SubscriptionConfiguration['eventTypes'],
    ...(filters !== undefined && { filters: filtersIn(filters) }),
    ...(clearance !== undefined && { clearance: oneOf(CLASSIFICATIONS, clearance, 'classification') }),
    ...(ordered && { ordered }),
  };
}

/** The service says what is wrong with them. */
function filtersIn(text: string): NonNullable<SubscriptionConfiguration['filters']> {
  try {
    const read = parseJson(text);
    if (typeof read === 'object' && read !== null && !Array.isArray(read))
      return read as NonNullable<SubscriptionConfiguration['filters']>;
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new CannotRun(`--filters is not JSON: ${error.message}`);
  }
  throw new CannotRun('--filters is a JSON object: {"payload.amount":{"gt":1000}}');
}

function limitIn(text: string): number {
  const limit = Number(text);
  if (/^[1-9]\d{0,4}$/.test(text) && limit <= LIMITS.pageSizeMax) return limit;
  throw new CannotRun(`--limit is ${JSON.stringify(text.slice(0, 80))}; it is 1 to ${LIMITS.pageSizeMax}`);
}

const ID = new RegExp(ULID_PATTERN);

async function subscriptionNamed(wanted: string, service: ServedWebhooks): Promise<Subscription> {
  const id = wanted.toUpperCase();
  if (ID.test(id)) return service.get(id);
  const found = (await service.list()).filter(({ name }) => name === wanted);
  const [only] = found;
  if (found.length === 1) return only!;
  const named = JSON.stringify(wanted.slice(0, 200));
  throw new NoAnswer(
    only === undefined
      ? `there is no subscription ${named}; tallystick webhooks list shows them`
      : `${found.length} subscriptions are called ${named}; give the subscriptionId`,
  );
}
