// What the commands about webhooks share: asking the service, and finding the subscription that is meant.

import { type Subscription, ULID_PATTERN } from '@tallystick/contract';
import { serviceIn, type ServiceOptions } from '../address-options.ts';
import { failedAsking } from '../failed-asking.ts';
import { NoAnswer } from '../fetch-bytes.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import type { JsonOption } from '../output/rows.ts';
import { type ServedWebhooks, servedWebhooks } from './served-webhooks.ts';

export type OneOptions = ServiceOptions & JsonOption;

/** The argument that names one. */
export const SUBSCRIPTION = 'of the subscription, or its subscriptionId';

export async function askingWebhooks(
  options: ServiceOptions,
  work: (service: ServedWebhooks, out: LineOutput) => Promise<number>,
): Promise<void> {
  try {
    process.exitCode = await work(servedWebhooks(serviceIn(options)), lineOutput());
  } catch (error) {
    process.exitCode = failedAsking(error);
  }
}

const ID = new RegExp(ULID_PATTERN);

export async function subscriptionNamed(wanted: string, service: ServedWebhooks): Promise<Subscription> {
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
