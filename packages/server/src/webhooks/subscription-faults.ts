// The rules for subscriptions that a schema cannot state: which URLs, filters and headers are allowed, and how many of them a tenant may
// have. The limits matter because each event is matched against all of them, in the process that serves all tenants.

import { type ErrorDetail, isDuration, LIMITS } from '@tallystick/contract';
import { type OwnViolation, receivedMember } from '../call.ts';
import { parseConditions } from '../policies/condition.ts';
import { above, sumsOf } from '../policies/policy-budget.ts';
import { longestMs } from '../runtime/expiry.ts';
import { headerFaults } from './custom-headers.ts';
import type { SubscriptionRecord } from './subscription.ts';

type Fault = Omit<OwnViolation, 'member'>;

/** Why a URL is not allowed, as far as it says itself. */
export type JudgeAsWritten = (url: string) => string | undefined;

/** Takes whatever was received; the schema reports what is not a subscription at all. */
export function subscriptionFaults(
  subscription: unknown,
  judgeAsWritten: JudgeAsWritten = () => undefined,
): Fault[] {
  const filters = receivedMember(subscription, 'filters') ?? undefined;
  const details = [
    ...(filters === undefined ? [] : (parseConditions(filters, 'filters').faults ?? [])),
    ...headerFaults(receivedMember(subscription, 'headers')),
    ...retryFaults(receivedMember(subscription, 'retry')),
  ];
  return [
    ...urlFaults(receivedMember(subscription, 'url'), judgeAsWritten).map((detail) => ({
      detail,
      code: INVALID_URL,
    })),
    ...details.map((detail) => ({ detail })),
  ];
}

export const INVALID_URL = 'INVALID_WEBHOOK_URL';

/** As far as the text alone can tell. */
function urlFaults(url: unknown, judgeAsWritten: JudgeAsWritten): ErrorDetail[] {
  if (typeof url !== 'string' || url.length > LIMITS.urlLengthMax) return [];
  const parsed = URL.parse(url);
  if (parsed === null) return [];
  const { protocol, username, password } = parsed;
  if (protocol !== 'https:' && protocol !== 'http:')
    return [{ field: 'url', issue: `must begin with https:, not with ${protocol}` }];
  if (username !== '' || password !== '')
    return [{ field: 'url', issue: 'must not have a user name or a password in it' }];
  const reason = judgeAsWritten(url);
  return reason === undefined ? [] : [notAllowed(url, reason)];
}

export function notAllowed(url: string, reason: string): ErrorDetail {
  // What has a password in it is not repeated.
  const shown = url.includes('@') ? {} : { value: url };
  return { field: 'url', issue: `is not allowed: ${reason}`, ...shown };
}

function retryFaults(retry: unknown): ErrorDetail[] {
  return (['initialDelay', 'maxDelay'] as const).flatMap((name) => {
    const value = receivedMember(retry, name);
    if (typeof value !== 'string' || !isDuration(value) || !/[1-9]/.test(value)) return [];
    const ms = longestMs(value);
    if (ms >= LIMITS.retryDelayMsMin && ms <= LIMITS.retryDelayMsMax) return [];
    return [{ field: `retry.${name}`, issue: 'must be from PT1S to P1D', value }];
  });
}

/** How long a replaced secret may still sign. */
export function graceFaults(rotation: unknown): ErrorDetail[] {
  const gracePeriod = receivedMember(rotation, 'gracePeriod');
  if (typeof gracePeriod !== 'string' || !isDuration(gracePeriod)) return [];
  if (longestMs(gracePeriod) <= LIMITS.secretGraceMsMax) return [];
  const days = LIMITS.secretGraceMsMax / 86_400_000;
  return [{ field: 'gracePeriod', issue: `must be at most P${days}D`, value: gracePeriod }];
}

/** The limits that `subscription` would exceed, whether it is new or replaces its older version. `all`: those of the tenant, including deleted ones. */
export function budgetFaults(
  subscription: SubscriptionRecord,
  all: readonly SubscriptionRecord[],
): ErrorDetail[] {
  const others = all.filter(({ subscriptionId }) => subscriptionId !== subscription.subscriptionId);
  const there = [...others.filter(({ isDeleted }) => !isDeleted), subscription];
  const sizes = there.map(sizeOf);
  const sumOf = (name: keyof Size) => sizes.reduce((sum, size) => sum + size[name], 0);
  const ofTenant = 'in the subscriptions of a tenant';
  return [
    ...above('', there.length, LIMITS.subscriptionsMax, 'subscriptions of a tenant'),
    ...above(
      '',
      others.length + 1,
      LIMITS.subscriptionRecordsMax,
      'subscriptions of a tenant, with those that are deleted',
    ),
    ...above(
      '',
      sumOf('length'),
      LIMITS.subscriptionsLengthMax,
      'characters of JSON in all subscriptions of a tenant',
    ),
    ...above('filters', sumOf('conditions'), LIMITS.activeConditionsMax, `conditions ${ofTenant}`),
    ...above('filters', sumOf('detectors'), LIMITS.activeDetectorsMax, `conditions with detects ${ofTenant}`),
    ...above(
      'filters',
      sumOf('searches'),
      LIMITS.activeSearchesMax,
      `conditions with contains or [*] ${ofTenant}`,
    ),
  ];
}

interface Size extends ReturnType<typeof sumsOf> {
  readonly length: number;
}

/** A version never changes, so each is measured once. */
const known = new WeakMap<SubscriptionRecord, Size>();

function sizeOf(subscription: SubscriptionRecord): Size {
  let size = known.get(subscription);
  if (size === undefined) {
    const { subscriptionId: ruleId, filters: conditions } = subscription;
    size = { length: JSON.stringify(subscription).length, ...sumsOf([{ ruleId, conditions }]) };
    known.set(subscription, size);
  }
  return size;
}
