// The webhook subscriptions of a tenant over HTTP, and their deliveries. A change is retried if its answer is lost; the Idempotency-Key
// makes sure that it is done once. An answer of the wrong shape is an EvidenceError; no answer, or a refusal, is NoAnswer.

import type {
  Delivery,
  NewSubscription,
  Recovery,
  RotatedSecret,
  Subscription,
  SubscriptionConfiguration,
  SubscriptionPatch,
  TestDelivery,
} from '@tallystick/contract';
import { allPages, type AskedService, askerOf, misshapen, parameters, rowsOf } from '../ask-json.ts';
import { areTexts, areTextsIfAny, isCount, membersOf } from '../members.ts';
import { type Change, retried } from '../retried-change.ts';

export interface ServedWebhooks {
  /** All of them, newest first. */
  list(status?: string): Promise<Subscription[]>;
  get(subscriptionId: string): Promise<Subscription>;
  create(subscription: SubscriptionConfiguration, change: Change): Promise<NewSubscription>;
  update(subscriptionId: string, patch: SubscriptionPatch, change: Change): Promise<Subscription>;
  remove(subscriptionId: string): Promise<void>;
  pause(subscriptionId: string, change: Change): Promise<Subscription>;
  resume(subscriptionId: string, change: Change): Promise<Subscription>;
  /** Without the secret where the first answer was lost. */
  rotateSecret(subscriptionId: string, gracePeriod: string, change: Change): Promise<RotatedSecret>;
  recover(subscriptionId: string, since: string, change: Change): Promise<Recovery>;
  test(subscriptionId: string, change: Change): Promise<TestDelivery>;
  /** The newest. */
  deliveries(subscriptionId: string, limit: number, status?: string): Promise<Delivery[]>;
  redeliver(subscriptionId: string, webhookId: string, change: Change): Promise<Delivery>;
}

const PAGE = 100;
const ADVICE = {
  401: 'give an API key that may manage webhooks (audit:webhooks) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not manage webhooks here: it needs audit:webhooks, the role Admin or Operator if it has roles, and the tenant',
  404: 'is this the address of a service?',
} as const;
/** Of one subscription the service says itself that it is missing. */
const ONE_ADVICE = { ...ADVICE, 404: undefined } as const;

export function servedWebhooks(service: AskedService): ServedWebhooks {
  const ask = askerOf(service, ADVICE);
  const about = async <T>(
    path: string,
    is: (value: unknown) => value is T,
    options: Parameters<typeof ask>[1] = {},
  ): Promise<T> => {
    const { answer } = await ask(path, { advice: ONE_ADVICE, ...options });
    if (!is(answer)) throw misshapen(path);
    return answer;
  };
  const sent =
    (method: 'POST' | 'PATCH') =>
    <T>(path: string, is: (value: unknown) => value is T, change: Change, body?: object) =>
      retried(change, (headers) => about(path, is, { method, headers, ...(body && { body }) }));
  const [post, patch] = [sent('POST'), sent('PATCH')];
  return {
    list: (status) => allPages(ask, ROOT, { status, limit: String(PAGE) }, isSubscription),
    get: (id) => about(pathOf(id), isSubscription),
    create: (subscription, change) => post(ROOT, isSubscription, change, subscription),
    update: (id, changes, change) => patch(pathOf(id), isSubscription, change, changes),
    pause: (id, change) => post(`${pathOf(id)}/pause`, isSubscription, change),
    resume: (id, change) => post(`${pathOf(id)}/resume`, isSubscription, change),
    rotateSecret: (id, gracePeriod, change) =>
      post(`${pathOf(id)}/rotate-secret`, isRotatedSecret, change, { gracePeriod }),
    recover: (id, since, change) => post(`${pathOf(id)}/recover`, isRecovery, change, { since }),
    async remove(id) {
      await ask(pathOf(id), { method: 'DELETE', advice: ONE_ADVICE });
    },
    test: (id, change) => post(`${pathOf(id)}/test`, isTestDelivery, change),
    async deliveries(id, limit, status) {
      const of = `${pathOf(id)}/deliveries`;
      const query = parameters({ limit: String(limit), status });
      const { answer, path } = await ask(`${of}?${query}`, { advice: ONE_ADVICE });
      const rows = rowsOf(answer['data'], path);
      if (!rows.every(isDelivery)) throw misshapen(path);
      return rows;
    },
    redeliver: (id, webhookId, change) =>
      post(`${pathOf(id)}/deliveries/${encodeURIComponent(webhookId)}/redeliver`, isDelivery, change),
  };
}

const ROOT = 'webhooks/subscriptions';

function pathOf(subscriptionId: string): string {
  return `${ROOT}/${encodeURIComponent(subscriptionId)}`;
}

/** Any server may be at the address. */
function isSubscription(value: unknown): value is NewSubscription {
  const subscription = membersOf(value);
  const circuit = membersOf(subscription['circuit']);
  return (
    areTexts(subscription, ['subscriptionId', 'name', 'url', 'status', 'clearance', 'createdAt']) &&
    areTextsIfAny(subscription, ['secret', 'createdBy']) &&
    Array.isArray(subscription['eventTypes']) &&
    areTexts(circuit, ['state']) &&
    areTextsIfAny(circuit, ['openedAt', 'nextAttemptAt']) &&
    isCount(circuit['consecutiveFailures'])
  );
}

function isRotatedSecret(value: unknown): value is RotatedSecret {
  const rotated = membersOf(value);
  return (
    areTexts(rotated, ['subscriptionId', 'previousSecretExpiresAt']) && areTextsIfAny(rotated, ['secret'])
  );
}

function isRecovery(value: unknown): value is Recovery {
  return areTexts(membersOf(value), ['operationId', 'subscriptionId', 'since']);
}

function isAttempt(value: unknown): boolean {
  const attempt = membersOf(value);
  return areTexts(attempt, ['at']) && areTextsIfAny(attempt, ['error', 'fault', 'responseBody']);
}

function isTestDelivery(value: unknown): value is TestDelivery {
  const { webhookId, delivered, attempt } = membersOf(value);
  return typeof webhookId === 'string' && typeof delivered === 'boolean' && isAttempt(attempt);
}

function isDelivery(value: unknown): value is Delivery {
  const delivery = membersOf(value);
  return (
    areTexts(delivery, ['webhookId', 'webhookType', 'status']) &&
    areTextsIfAny(delivery, ['nextAttemptAt']) &&
    isCount(delivery['attemptNumber']) &&
    Array.isArray(delivery['attempts']) &&
    delivery['attempts'].every(isAttempt)
  );
}
