// tallystick webhooks: the webhook subscriptions of a running service, and a local consumer. Exit codes: 0 done; 1 failed, or a test was
// not delivered; 2 the command line is wrong.

import { CLASSIFICATIONS, DeliveryStatus, LIMITS, SubscriptionStatus } from '@tallystick/contract';
import { Command } from 'commander';
import { addServiceOptions, type ServiceOptions } from '../address-options.ts';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { wordsIn, wordsOf } from '../given-option.ts';
import { newChange } from '../new-change.ts';
import { printable } from '../output/printable.ts';
import { jsonLines, type JsonOption, titledLines, writeRows } from '../output/rows.ts';
import {
  deleteCommand,
  pauseCommand,
  recoverCommand,
  resumeCommand,
  rotateSecretCommand,
  showCommand,
  updateCommand,
} from '../webhooks/change-commands.ts';
import {
  type ConfigurationOptions,
  configurationIn,
  eventTypesIn,
} from '../webhooks/configuration-options.ts';
import { listenCommand } from '../webhooks/listen-command.ts';
import {
  askingWebhooks,
  type OneOptions,
  SUBSCRIPTION,
  subscriptionNamed,
} from '../webhooks/one-subscription.ts';
import {
  answerOf,
  DELIVERY_COLUMNS,
  SUBSCRIPTION_COLUMNS,
  subscriptionRows,
} from '../webhooks/webhook-tables.ts';

interface ListOptions extends ServiceOptions, JsonOption {
  readonly status?: string;
}

interface CreateOptions extends ServiceOptions, JsonOption, ConfigurationOptions {
  readonly name: string;
  readonly events: string;
}

interface DeliveriesOptions extends ListOptions {
  readonly limit: string;
}

export function webhooksCommand(): Command {
  return new Command('webhooks')
    .summary('manage webhook subscriptions of a running service, and listen to one')
    .description(
      'Makes, shows, changes and tests the webhook subscriptions of a tenant, lists their deliveries, and receives some on this machine.\n' +
        'Exit code 0: done. 1: failed, or a test was not delivered. 2: the command line is wrong.',
    )
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(showCommand())
    .addCommand(updateCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(rotateSecretCommand())
    .addCommand(testCommand())
    .addCommand(listenCommand())
    .addCommand(deliveriesCommand())
    .addCommand(redeliverCommand())
    .addCommand(recoverCommand())
    .addCommand(deleteCommand());
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
      askingWebhooks(options, async (service, out) => {
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
      askingWebhooks(options, async (service, out) => {
        const { name } = options;
        const wish = { ...configurationIn(options), name, url, eventTypes: eventTypesIn(options.events) };
        const made = await service.create(wish, await newChange());
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
      askingWebhooks(options, async (service, out) => {
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
      askingWebhooks(options, async (service, out) => {
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
      askingWebhooks(options, async (service, out) => {
        const { subscriptionId } = await subscriptionNamed(wanted, service);
        const delivery = await service.redeliver(subscriptionId, webhookId, await newChange());
        const line = `${delivery.webhookId} is ${delivery.status}`;
        await out.write(options.json ? jsonLines(delivery) : [printable(line)]);
        return EXIT.done;
      }),
    );
}

function limitIn(text: string): number {
  const limit = Number(text);
  if (/^[1-9]\d{0,4}$/.test(text) && limit <= LIMITS.pageSizeMax) return limit;
  throw new CannotRun(`--limit is ${JSON.stringify(text.slice(0, 80))}; it is 1 to ${LIMITS.pageSizeMax}`);
}
