// A caller of a real service who manages webhook subscriptions; for tests.

import type { ErrorBody, NewSubscription } from '@tallystick/contract';
import { loadConfig } from '../config/config.ts';
import { createSecretBoxes } from '../keys/secret-box.ts';
import { openStorage } from '../operate/open-data.ts';
import { AS_THEY_ARE } from '../records/kept-records.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { createSubscriptions } from '../webhooks/subscriptions.ts';
import { createSubscriptionSecrets, type OpenedSecrets } from '../webhooks/subscription-secrets.ts';
import type { SubscriptionRecord } from '../webhooks/subscription.ts';
import { PLATFORM_KEY } from './admin-caller.ts';
import { ask as askOf, type Told } from './ask.ts';
import type { TestApp } from './test-app.ts';

export const SUBSCRIPTIONS = '/webhooks/subscriptions';

/** Loopback needs no name server; `Webhooks__AllowPrivateTargets` allows it. */
export const SUBSCRIPTION = {
  name: 'SIEM',
  url: 'https://127.0.0.1/hook',
  eventTypes: ['AuditEventReceived'],
};

export interface Subscribing {
  /** Below the path of subscriptions; by the platform's key, unless another is given. */
  <T = NewSubscription>(
    method: string,
    path?: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
    key?: string,
  ): Promise<Told<T>>;
}

export function subscribing(app: () => Pick<TestApp, 'url'>, tenant: string): Subscribing {
  return (method, path = '', body, headers = {}, key = PLATFORM_KEY) =>
    askOf(app(), method, `/api/v1${SUBSCRIPTIONS}${path}`, { key, tenant, headers, body });
}

/** Fails unless it is made. */
export async function subscribed(
  ask: Subscribing,
  more: object = {},
  key: string = PLATFORM_KEY,
): Promise<NewSubscription> {
  const { code, text, body } = await ask('POST', '', { ...SUBSCRIPTION, ...more }, {}, key);
  if (code !== '201') throw new Error(`a subscription was answered ${code} ${text}`);
  return body;
}

/** What an error says of each field. */
export function detailsOf({ body }: Told): string[] {
  return (body as ErrorBody).error.details.map(({ field, issue }) => `${field} ${issue}`);
}

/** As one who sends has it, read beside the service that runs. */
export async function storedSubscription(
  { dataDirectory }: Pick<TestApp, 'dataDirectory'>,
  tenant: string,
  subscriptionId: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ readonly record: SubscriptionRecord; readonly opened: OpenedSecrets }> {
  const variables = { Storage__DataDirectory: dataDirectory, ...settings };
  const { config } = loadConfig({ variables, workingDirectory: dataDirectory });
  await using storage = await openStorage(config, false);
  const kept = { genuine: AS_THEY_ARE.genuine, report: () => {} };
  const record = await createSubscriptions({ records: storage.records, kept }).find(tenant, subscriptionId);
  if (record === undefined) throw new Error(`there is no subscription ${subscriptionId}`);
  const secrets = createSubscriptionSecrets(createSecretBoxes(storage.secretKeys, createSystemRandom()));
  return { record, opened: await secrets.open(record) };
}
