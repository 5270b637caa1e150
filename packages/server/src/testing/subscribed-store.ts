// Subscriptions of a tenant in a real store, as those who deliver read them, with the jobs and the events there; for tests of the parts of
// webhooks.

import type { SubscriptionId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import type { TenantRecord } from '../access/tenants.ts';
import { recordsOf } from '../records/change.ts';
import { append, draftOf, placedIn, request } from '../storage/conformance/claims.ts';
import type { StoredEvent } from '../streams/log.ts';
import type { Claim, Job, JobKind, JobOutcome, NewJob, TenantJobs } from '../work/jobs.ts';
import { KnownSubscriptions } from '../webhooks/known-subscriptions.ts';
import {
  contentOfSubscription,
  SUBSCRIPTION_KIND,
  type SubscriptionRecord,
} from '../webhooks/subscription.ts';
import { type AccessStore, openAccessStore } from './access-store.ts';
import { EVENT } from './bound-operations.ts';
import { CORRELATION } from './test-call.ts';

const TENANT_ID = 'acme';
const EVERYTHING: Omit<SubscriptionRecord, 'subscriptionId' | 'noticeId'> = {
  tenantId: TENANT_ID,
  version: 1,
  name: 'SIEM',
  url: 'http://127.0.0.1/hook',
  eventTypes: ['*'],
  filters: {},
  headers: {},
  timeoutSeconds: 10,
  retry: { strategy: 'Schedule' },
  retryClientErrors: true,
  ordered: false,
  clearance: 'Internal',
  tls: undefined,
  isActive: true,
  isDeleted: false,
  round: 1,
  author: { roles: ['Operator'], clearance: 'Internal' },
  boxes: {},
  createdAtMs: 0,
  createdBy: 'key:1',
  updatedAtMs: 0,
  updatedBy: 'key:1',
};

export class SubscribedStore implements AsyncDisposable {
  readonly tenant = TENANT_ID;
  readonly store: AccessStore;
  readonly known: KnownSubscriptions;

  private constructor(store: AccessStore) {
    this.store = store;
    const { access, storage, clock } = store;
    this.known = new KnownSubscriptions({
      subscriptions: access.subscriptions,
      records: storage.records,
      clock,
    });
  }

  static async open(): Promise<SubscribedStore> {
    const store = await openAccessStore();
    await store.storage.tenants.ensure(TENANT_ID, store.clock.now());
    return new SubscribedStore(store);
  }

  get jobs(): TenantJobs {
    return this.store.storage.work.forTenant(TENANT_ID);
  }

  /** A new one: to everything, and seeing what an Operator sees, unless `more` says otherwise. */
  subscribe(more: Partial<SubscriptionRecord> = {}): Promise<SubscriptionRecord> {
    const { nextId } = this.store;
    return this.#put({ ...EVERYTHING, subscriptionId: nextId(), noticeId: nextId(), ...more }, 'Created');
  }

  /** Its next version. */
  change(before: SubscriptionRecord, more: Partial<SubscriptionRecord>): Promise<SubscriptionRecord> {
    return this.#put({ ...before, version: before.version + 1, ...more }, 'Updated');
  }

  async #put(subscription: SubscriptionRecord, act: 'Created' | 'Updated'): Promise<SubscriptionRecord> {
    const { subscriptionId: id, version, noticeId } = subscription;
    const notice = {
      kind: KINDS.administration,
      action: 'Update.Subscription',
      resource: { resourceType: SUBSCRIPTION_KIND, resourceId: id },
      payload: { act: `Subscription${act}`, requestId: CORRELATION.requestId, subjectIds: [id], count: 1 },
    };
    const write = {
      kind: SUBSCRIPTION_KIND,
      id,
      version,
      content: contentOfSubscription(subscription),
      notice,
      noticeId: act === 'Created' ? noticeId : undefined,
    } as const;
    const { correlationId } = CORRELATION;
    const put = recordsOf(
      await this.store.access.change({ owner: TENANT_ID, writes: [write], correlationId }),
    );
    if ('status' in put) throw new Error(`the subscription was answered ${put.status}`);
    return subscription;
  }

  /** Appended to the log, and read back from there. */
  async events(...events: readonly Readonly<Record<string, unknown>>[]): Promise<StoredEvent[]> {
    const { storage } = this.store;
    const drafts = events.map((more) => {
      const event = { classification: 'Internal', ...EVENT, ...more };
      const { classification } = event as { classification: StoredEvent['classification'] };
      return draftOf(event, { classification });
    });
    const placed = placedIn(await append(storage, request(TENANT_ID, drafts)));
    return this.log(placed[0]!.index, placed.at(-1)!.index + 1);
  }

  log(from: number, end: number): Promise<StoredEvent[]> {
    return this.store.storage.log.forTenant(TENANT_ID).events(from, end, end - from);
  }

  async tenantRecord(): Promise<TenantRecord> {
    return (await this.store.access.tenants.find(TENANT_ID))!;
  }

  async enqueue(job: Omit<NewJob, 'tenant' | 'jobId'>): Promise<string> {
    const jobId = this.store.nextId();
    await this.jobs.enqueue({ ...job, jobId });
    return jobId;
  }

  /** All of this kind that are due. */
  claim(kind: JobKind): Promise<Claim[]> {
    return this.store.storage.work.claim({ kind, max: 100, perLane: 100, leaseMs: 60_000 });
  }

  async finish({ job: { tenant, jobId }, token }: Claim, outcome: JobOutcome): Promise<void> {
    await this.store.storage.work.finish([{ tenant, jobId, token, outcome }]);
  }

  /** Of all states, the oldest first. */
  ofLane(kind: JobKind, lane: SubscriptionId): Promise<Job[]> {
    return this.jobs.jobsOfLane({ kind, lane, way: 'Rising', beyond: undefined, limit: 1000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
  }
}
