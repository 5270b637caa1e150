// Subscriptions and deliveries as tables for people.

import type {
  Delivery,
  DeliveryAttempt,
  NewSubscription,
  RotatedSecret,
  Subscription,
} from '@tallystick/contract';
import { membersOf } from '../members.ts';
import { cutTo } from '../output/fit-text.ts';
import type { Columns } from '../output/table.ts';

export const SUBSCRIPTION_COLUMNS: Columns<Subscription> = {
  NAME: ({ name }) => name,
  STATUS: ({ status }) => status,
  CIRCUIT: ({ circuit: { state } }) => state,
  EVENTS: ({ eventTypes }) => eventTypes.join(','),
  URL: ({ url }) => url,
  'SUBSCRIPTION ID': ({ subscriptionId }) => subscriptionId,
};

export const DELIVERY_COLUMNS: Columns<Delivery> = {
  'WEBHOOK ID': ({ webhookId }) => webhookId,
  TYPE: ({ webhookType }) => webhookType,
  STATUS: ({ status }) => status,
  ATTEMPTS: ({ attemptNumber }) => String(attemptNumber),
  'LAST ANSWER': ({ attempts }) => (attempts.length === 0 ? undefined : answerWithBody(attempts.at(-1)!)),
  'LAST ATTEMPT': ({ attempts }) => attempts.at(-1)?.at,
  'NEXT ATTEMPT': ({ nextAttemptAt }) => nextAttemptAt,
};

const BODY_WIDTH = 60;

function answerWithBody(attempt: DeliveryAttempt): string {
  return `${answerOf(attempt)} ${cutTo(attempt.responseBody ?? '', BODY_WIDTH)}`.trimEnd();
}

/** What the consumer said, or why it said nothing. */
export function answerOf({ responseStatus, error }: DeliveryAttempt): string {
  return responseStatus?.toString() ?? error ?? 'none';
}

type Rows = readonly (readonly [title: string, value: string])[];

const NOT_AGAIN = '(it is not shown again)';

/** One subscription, a line for each member that people ask for. */
export function subscriptionRows(subscription: NewSubscription): Rows {
  const { name, subscriptionId, url, eventTypes, filters, status, clearance, secret } = subscription;
  return [
    ['name', name],
    ['subscription id', subscriptionId],
    ['url', url],
    ['events', eventTypes.join(', ')],
    ['filters', JSON.stringify(filters ?? {})],
    ['clearance', clearance],
    ['status', status],
    ...(secret === undefined ? [] : [['secret', `${secret}  ${NOT_AGAIN}`] as const]),
  ];
}

/** All that is to be known of it. */
export function shownRows(subscription: Subscription): Rows {
  const { circuit, headers, timeoutSeconds, retry, ordered, tls, createdAt, createdBy } = subscription;
  const { state, consecutiveFailures, nextAttemptAt } = circuit;
  const next = nextAttemptAt === undefined ? '' : `; next test delivery at ${nextAttemptAt}`;
  return [
    ...subscriptionRows(subscription),
    ['circuit', `${state}; failures in a row: ${consecutiveFailures}${next}`],
    ['retry', JSON.stringify(retry)],
    ['timeout', `${timeoutSeconds} s`],
    ['ordered', ordered ? 'yes' : 'no'],
    ['headers', namesIn(headers)],
    ['certificates', namesIn(tls)],
    ['created', `${createdAt} by ${createdBy}`],
  ];
}

/** Any server may have answered. */
function namesIn(members: unknown): string {
  return Object.keys(membersOf(members)).join(', ') || 'none';
}

export function rotationRows({ subscriptionId, secret, previousSecretExpiresAt }: RotatedSecret): Rows {
  return [
    ['subscription id', subscriptionId],
    ['secret', secret === undefined ? 'not shown' : `${secret}  ${NOT_AGAIN}`],
    ['old secret signs until', previousSecretExpiresAt],
  ];
}
