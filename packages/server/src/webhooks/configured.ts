// What a subscription has by a configuration: the defaults for absent members, and what a new version keeps of the one before.

import {
  LIMITS,
  type RetryRule,
  type SubscriptionConfiguration,
  type SubscriptionPatch,
} from '@tallystick/contract';
import { mergePatch } from './merge-patch.ts';
import type { SubscriptionRecord } from './subscription.ts';

type Defaulted =
  | 'filters'
  | 'headers'
  | 'active'
  | 'timeoutSeconds'
  | 'retry'
  | 'retryClientErrors'
  | 'ordered';

export type CompleteConfiguration = SubscriptionConfiguration &
  Required<Pick<SubscriptionConfiguration, Defaulted>>;

const SCHEDULE: RetryRule = { strategy: 'Schedule' };

/** The gateway fills in the same defaults where a whole configuration is sent. */
export function completed(configuration: SubscriptionConfiguration): CompleteConfiguration {
  return {
    filters: {},
    headers: {},
    active: true,
    timeoutSeconds: LIMITS.deliveryTimeoutSecondsDefault,
    retry: SCHEDULE,
    retryClientErrors: true,
    ordered: false,
    ...configuration,
  };
}

/** The result of a patch, not validated yet. It lacks the secret, which is in a box. */
export function patched(subscription: SubscriptionRecord, patch: SubscriptionPatch): unknown {
  const { name, url, eventTypes, filters, headers, timeoutSeconds, retry } = subscription;
  const { retryClientErrors, ordered, tls, clearance, isActive: active } = subscription;
  const before = { name, url, eventTypes, filters, headers, active, timeoutSeconds, retry };
  const more = { retryClientErrors, ordered, clearance, ...(tls !== undefined && { tls }) };
  const { secret: _, ...changes } = patch;
  return mergePatch({ ...before, ...more }, changes);
}

type Plain =
  | 'name'
  | 'url'
  | 'eventTypes'
  | 'filters'
  | 'timeoutSeconds'
  | 'retry'
  | 'retryClientErrors'
  | 'ordered';

/** What is stored as it is sent. */
export function plainMembers(wanted: CompleteConfiguration): Pick<SubscriptionRecord, Plain> {
  const { name, url, eventTypes, filters, timeoutSeconds, retry, retryClientErrors, ordered } = wanted;
  return { name, url, eventTypes, filters, timeoutSeconds, retry, retryClientErrors, ordered };
}
