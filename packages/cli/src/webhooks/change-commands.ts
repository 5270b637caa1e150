// The subcommands of tallystick webhooks that show or change one subscription, or recover what it missed.

import {
  CLASSIFICATIONS,
  SECRET_GRACE_DEFAULT,
  type Subscription,
  type SubscriptionPatch,
} from '@tallystick/contract';
import { Command } from 'commander';
import { addServiceOptions } from '../address-options.ts';
import { isAgreed, type YesOption } from '../ask-yes.ts';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { newChange } from '../new-change.ts';
import { complain } from '../output/complain.ts';
import type { LineOutput } from '../output/line-output.ts';
import { printable } from '../output/printable.ts';
import { jsonLines, titledLines } from '../output/rows.ts';
import { timeIn } from '../time-range-options.ts';
import { type ConfigurationOptions, configurationIn, objectIn } from './configuration-options.ts';
import { askingWebhooks, type OneOptions, SUBSCRIPTION, subscriptionNamed } from './one-subscription.ts';
import type { ServedWebhooks } from './served-webhooks.ts';
import { rotationRows, shownRows } from './webhook-tables.ts';

interface UpdateOptions extends OneOptions, ConfigurationOptions {
  readonly consumer?: string;
  readonly patch?: string;
}

interface RotateOptions extends OneOptions {
  readonly gracePeriod: string;
}

interface RecoverOptions extends OneOptions {
  readonly since: string;
}

interface Asked<O> {
  readonly service: ServedWebhooks;
  readonly out: LineOutput;
  readonly options: O;
}

export function showCommand(): Command {
  return oneCommand('show', 'show a subscription', {
    description: 'Shows how a subscription is configured, and the state of its circuit.',
    ask: (subscription, asked) => write(subscription, asked),
  }).option('--json', "print the service's answer, as JSON");
}

export function updateCommand(): Command {
  return oneCommand<UpdateOptions>('update', 'change a subscription', {
    description: 'Changes what is given, and leaves the rest of a subscription as it is.',
    async ask({ subscriptionId }, asked) {
      const changed = await asked.service.update(subscriptionId, patchOf(asked.options), await newChange());
      return write(changed, asked);
    },
  })
    .option('--name <name>', 'what it is called from now on')
    .option('--consumer <url>', 'where deliveries go from now on; what waits, too')
    .option('--events <types>', 'what it is told about, several with commas; "*" is all')
    .option('--filters <json>', 'which events, as in a rule: {"action":"Delete.*"}')
    .option('--clearance <classification>', `what it may see: ${CLASSIFICATIONS.join(', ')}`)
    .option('--ordered', 'deliver one after the other, in the order of the log')
    .option('--no-ordered', 'deliver several at a time')
    .option('--patch <json>', 'any other members, as a JSON merge patch: {"timeoutSeconds":5}')
    .option('--json', "print the service's answer, as JSON");
}

export function pauseCommand(): Command {
  return oneCommand('pause', 'pause a subscription', {
    description: 'Pauses a subscription: deliveries wait, seven days at most, until it is resumed.',
    async ask({ subscriptionId }, asked) {
      return writeStatus(await asked.service.pause(subscriptionId, await newChange()), asked);
    },
  }).option('--json', "print the service's answer, as JSON");
}

export function resumeCommand(): Command {
  return oneCommand('resume', 'resume a paused or failed subscription', {
    description: 'Resumes a subscription with a closed circuit: what waits is sent, the oldest first.',
    async ask({ subscriptionId }, asked) {
      return writeStatus(await asked.service.resume(subscriptionId, await newChange()), asked);
    },
  }).option('--json', "print the service's answer, as JSON");
}

export function rotateSecretCommand(): Command {
  return oneCommand<RotateOptions>('rotate-secret', 'make a new signing secret', {
    description:
      'Makes a new signing secret, and prints it: it is not shown again. The old one signs, too, until the grace period ends.',
    async ask({ subscriptionId }, { service, options, out }) {
      const rotated = await service.rotateSecret(subscriptionId, options.gracePeriod, await newChange());
      await out.write(options.json ? jsonLines(rotated) : titledLines(rotationRows(rotated)));
      if (rotated.secret !== undefined) return EXIT.done;
      complain('the answer that showed the new secret was lost; rotate it again');
      return EXIT.failed;
    },
  })
    .option(
      '--grace-period <duration>',
      'how long the old secret signs, too: PT0S to P7D',
      SECRET_GRACE_DEFAULT,
    )
    .option('--json', "print the service's answer, as JSON");
}

export function recoverCommand(): Command {
  return oneCommand<RecoverOptions>('recover', 'send what was not acknowledged since a time', {
    description:
      'Has the service read the log again from a time on, and send every match that was not acknowledged, also from before the subscription.',
    async ask({ subscriptionId, name }, { service, options, out }) {
      const since = timeIn(options.since, '--since', 'T00:00:00Z');
      const recovery = await service.recover(subscriptionId, since, await newChange());
      const line = `recovering ${name} since ${recovery.since}, as operation ${recovery.operationId}`;
      await out.write(options.json ? jsonLines(recovery) : [printable(line)]);
      return EXIT.done;
    },
  })
    .requiredOption('--since <time>', 'a day, or an instant with its zone; it is included')
    .option('--json', "print the service's answer, as JSON");
}

export function deleteCommand(): Command {
  return oneCommand<OneOptions & YesOption>('delete', 'delete a subscription', {
    description:
      'Deletes a subscription for good, with its deliveries, also those that are still to be sent.',
    async ask(subscription, asked) {
      const { service, options, out } = asked;
      if (!options.yes) await write(subscription, asked);
      if (!(await isAgreed('Delete it, with all its deliveries?', options))) {
        complain('nothing was deleted');
        return EXIT.failed;
      }
      await service.remove(subscription.subscriptionId);
      await out.write([printable(`${subscription.name} is deleted`)]);
      return EXIT.done;
    },
  }).option('--yes', 'do not ask; needed where there is no terminal');
}

interface About<O> {
  readonly description: string;
  readonly ask: (subscription: Subscription, asked: Asked<O>) => Promise<number>;
}

/** About one subscription. */
function oneCommand<O extends OneOptions>(
  name: string,
  summary: string,
  { description, ask }: About<O>,
): Command {
  const command = new Command(name)
    .summary(summary)
    .description(description)
    .argument('<name>', SUBSCRIPTION);
  return addServiceOptions(command, 'whose subscription').action((wanted: string, options: O) =>
    askingWebhooks(options, async (service, out) =>
      ask(await subscriptionNamed(wanted, service), { service, out, options }),
    ),
  );
}

async function write(subscription: Subscription, { options, out }: Asked<OneOptions>): Promise<number> {
  await out.write(options.json ? jsonLines(subscription) : titledLines(shownRows(subscription)));
  return EXIT.done;
}

async function writeStatus(subscription: Subscription, { options, out }: Asked<OneOptions>): Promise<number> {
  const { name, status } = subscription;
  await out.write(options.json ? jsonLines(subscription) : [printable(`${name} is ${status}`)]);
  return EXIT.done;
}

function patchOf(options: UpdateOptions): SubscriptionPatch {
  const { consumer, patch } = options;
  const changes = {
    ...(patch !== undefined && objectIn(patch, '--patch', '{"timeoutSeconds":5}')),
    ...configurationIn(options),
    ...(consumer !== undefined && { url: consumer }),
  };
  if (Object.keys(changes).length > 0) return changes;
  throw new CannotRun('there is nothing to change: give --consumer, --events or another option');
}
