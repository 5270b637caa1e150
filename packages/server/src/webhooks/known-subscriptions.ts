// The subscriptions of tenants, cached for the notifier and the deliverer, and read again once any record has changed. They may learn of a
// change a moment after it was answered, just as a delivery that is already under way.

import type { SubscriptionId, TenantId } from '@tallystick/contract';
import type { RecordReader } from '../records/records.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SubscriptionRecord } from './subscription.ts';
import type { Subscriptions } from './subscriptions.ts';

export interface KnownParts {
  readonly subscriptions: Pick<Subscriptions, 'all'>;
  readonly records: Pick<RecordReader, 'version'>;
  readonly clock: Pick<Clock, 'monotonicNs'>;
}

export type SubscriptionsById = ReadonlyMap<SubscriptionId, SubscriptionRecord>;

const FRESH_NS = 50e6;
const TENANTS_KEPT_MAX = 1000;

export class KnownSubscriptions {
  readonly #parts: KnownParts;
  #known = new Map<TenantId, Promise<SubscriptionsById>>();
  #version: unknown;
  #asked: Promise<void> | undefined;
  #askedNs = -Infinity;

  constructor(parts: KnownParts) {
    this.#parts = parts;
  }

  /** Without deleted ones. The same map as long as no record of any tenant changes. */
  async of(tenant: TenantId): Promise<SubscriptionsById> {
    await this.#lookForChanges();
    const known = this.#known.get(tenant) ?? this.#read(tenant);
    return known;
  }

  /** For callers that must not see an older state than something they have read before. */
  async latest(tenant: TenantId): Promise<SubscriptionsById> {
    this.#askedNs = -Infinity;
    return this.of(tenant);
  }

  #read(tenant: TenantId): Promise<SubscriptionsById> {
    if (this.#known.size >= TENANTS_KEPT_MAX) this.#known.clear();
    const reading = this.#parts.subscriptions.all(tenant).then((all) => {
      const there = all.filter(({ isDeleted }) => !isDeleted);
      return new Map(there.map((each) => [each.subscriptionId, each]));
    });
    const into = this.#known;
    into.set(tenant, reading);
    reading.catch(() => into.delete(tenant));
    return reading;
  }

  async #forgetIfChanged(): Promise<void> {
    const version = await this.#parts.records.version();
    if (version !== this.#version) this.#known = new Map();
    this.#version = version;
  }

  #lookForChanges(): Promise<void> {
    const { clock } = this.#parts;
    if (clock.monotonicNs() - this.#askedNs < FRESH_NS) return this.#asked!;
    this.#askedNs = clock.monotonicNs();
    this.#asked = this.#forgetIfChanged();
    return this.#asked.catch((error: unknown) => {
      this.#askedNs = -Infinity;
      throw error;
    });
  }
}
