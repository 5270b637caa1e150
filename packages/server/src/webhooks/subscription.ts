// A webhook subscription as the service keeps it: a record of its tenant. Its secrets are sealed in boxes (keys/secret-box.ts), which are
// opened for sending only: subscription-secrets.ts.

import type {
  Classification,
  Conditions,
  EventId,
  RetryRule,
  Role,
  Subscription,
  SubscriptionId,
  TenantId,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Caller } from '../access/caller.ts';
import { lower } from '../access/roles.ts';
import type { RecordContent } from '../records/record-macs.ts';
import type { StoredRecord } from '../records/records.ts';
import { instant } from '../runtime/clock.ts';
import type { Standing } from './circuits.ts';

export const SUBSCRIPTION_KIND = 'Subscription';

export interface SubscriptionRecord {
  readonly subscriptionId: SubscriptionId;
  readonly tenantId: TenantId;
  readonly version: number;
  /** The notice of its creation: what came before it in the log is not sent. */
  readonly noticeId: EventId;
  readonly name: string;
  readonly url: string;
  /** As they were sent: event-types.ts says what they mean. */
  readonly eventTypes: Subscription['eventTypes'];
  readonly filters: Conditions;
  /** A credential is REDACTED here; its value is in a box. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly retry: RetryRule;
  readonly retryClientErrors: boolean;
  readonly ordered: boolean;
  readonly clearance: Classification;
  /** Without the private key, which is in a box. */
  readonly tls: Subscription['tls'];
  /** What callers want; its circuit may be open nevertheless. */
  readonly isActive: boolean;
  readonly isDeleted: boolean;
  /** The version in which a caller paused or resumed it last: see circuits.ts. */
  readonly round: number;
  readonly author: SubscriptionAuthor;
  /** Empty once it is deleted. */
  readonly boxes: SubscriptionBoxes;
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly updatedAtMs: number;
  readonly updatedBy: string;
}

/** By whose rights events are sent: subscription-author.ts. */
export interface SubscriptionAuthor {
  readonly roles: readonly Role[];
  readonly clearance: Classification;
}

/** Sealed texts, in base64. */
export interface SubscriptionBoxes {
  readonly secret?: string | undefined;
  /** Signs, too, until its time is over. */
  readonly previousSecret?: { readonly box: string; readonly untilMs: number } | undefined;
  /** The credentials among the headers, by their names, as JSON. */
  readonly headers?: string | undefined;
  readonly clientKey?: string | undefined;
}

/** The content of its record. */
export function contentOfSubscription(subscription: SubscriptionRecord): RecordContent {
  const { subscriptionId: _, tenantId: __, version: ___, isActive, isDeleted, ...others } = subscription;
  const state = isDeleted ? 'Deleted' : isActive ? 'Active' : 'Paused';
  return { ...others, state };
}

/** Of a genuine record. */
export function subscriptionIn({ owner, id, version, body }: StoredRecord): SubscriptionRecord {
  // Written by `contentOfSubscription`.
  const { state, tls, ...content } = parseJson(body) as RecordContent & SubscriptionRecord;
  return {
    ...content,
    tls,
    subscriptionId: id,
    tenantId: owner,
    version,
    isActive: state === 'Active',
    isDeleted: state === 'Deleted',
  };
}

/** Subscriptions to one origin share connections and limits. */
export function originOf({ url }: Pick<SubscriptionRecord, 'url'>): string {
  return URL.parse(url)?.origin ?? url;
}

/** The reader that it sees events as; it sees no more than its author does. */
export function readerOf(subscription: SubscriptionRecord): Caller {
  const { subscriptionId, tenantId, author, clearance } = subscription;
  const name = `subscription:${subscriptionId}`;
  return {
    name,
    identity: name,
    tenant: tenantId,
    namesTenant: false,
    roles: author.roles,
    clearance: lower(clearance, author.clearance),
    refusal: () => 'FORBIDDEN',
  };
}

const readers = new Map<string, Caller>();
const READERS_MAX = 10_000;

/** One reader for all subscriptions with the same rights, since they see the same. It has the name of one of them. */
export function sharedReaderOf(subscription: SubscriptionRecord): Caller {
  const reader = readerOf(subscription);
  const key = JSON.stringify([reader.tenant, reader.clearance, reader.roles]);
  const known = readers.get(key);
  if (known !== undefined) return known;
  if (readers.size >= READERS_MAX) readers.clear();
  readers.set(key, reader);
  return reader;
}

/** Its members in a fixed order, whatever order they were stored in. */
export function showSubscription(
  subscription: SubscriptionRecord,
  { status, circuit }: Standing,
): Subscription {
  const { subscriptionId, tenantId, name, url, eventTypes, filters, headers, tls } = subscription;
  const { timeoutSeconds, retry, retryClientErrors, ordered, clearance, isActive } = subscription;
  return {
    subscriptionId,
    tenantId,
    name,
    url,
    eventTypes,
    filters,
    headers,
    active: isActive,
    status,
    timeoutSeconds,
    retry,
    retryClientErrors,
    ordered,
    ...(tls !== undefined && { tls }),
    clearance,
    circuit,
    createdAt: instant(subscription.createdAtMs),
    createdBy: subscription.createdBy,
    updatedAt: instant(subscription.updatedAtMs),
  };
}
