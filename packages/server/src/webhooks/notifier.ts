// The follower that turns the log into deliveries: the log is the outbox. For each event and each subscription that matches it, it stores a
// job, in one commit with its position behind those events. So a notifier that was killed continues where it was, and queues each delivery
// once. It does not read the logs of tenants without subscriptions.

import { CLASSIFICATIONS, type EventId, type TenantId } from '@tallystick/contract';
import type { Tenants } from '../access/tenants.ts';
import type { FollowStep, FollowStore, LogBehind } from '../followers/follow-store.ts';
import type { FollowerWork, SetAside } from '../followers/follower-work.ts';
import { logTurns, nextPortion } from '../followers/log-turns.ts';
import type { Clock } from '../runtime/clock.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { LogReader } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { jobsFor, type Owed, type OwedParts, owedFor } from './owed.ts';
import { Subscribers } from './subscribers.ts';
import { SUBSCRIPTION_KIND, type SubscriptionRecord } from './subscription.ts';

export interface NotifierParts extends OwedParts {
  readonly follows: FollowStore;
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly subscriptions: KnownSubscriptions;
  readonly clock: Pick<Clock, 'now' | 'monotonicNs'>;
  /** There are deliveries to do. */
  readonly wake: () => void;
  readonly telemetry: Pick<Telemetry, 'error'>;
}

/** In one commit; the rest of the portion is left to the next turn. */
const JOBS_MAX = 5000;
const TENANTS_KEPT_MAX = 1000;

export class Notifier implements FollowerWork {
  readonly turn: FollowerWork['turn'];
  readonly #parts: NotifierParts;
  /** Compiled once for each state of a tenant's subscriptions and policies. */
  readonly #compiled = new Map<TenantId, Compiled>();
  /** An entry keeps its index. */
  readonly #indexes = new Map<EventId, number>();

  constructor(parts: NotifierParts) {
    this.#parts = parts;
    const turn = logTurns({
      name: 'Notifications',
      from: 'Beginning',
      having: SUBSCRIPTION_KIND,
      follows: parts.follows,
      stepsOf: (behind, setAside) => this.#stepsOf(behind, setAside),
    });
    this.turn = async () => {
      const done = await turn();
      if (done.taken > 0) parts.wake();
      return done;
    };
  }

  /** A log that cannot be read does not hold up the others. If none can be read, the next turn waits. */
  async #stepsOf(behind: readonly LogBehind[], setAside: SetAside[]): Promise<FollowStep[]> {
    const steps: FollowStep[] = [];
    let failure: unknown;
    for (const log of behind) {
      try {
        steps.push(await this.#stepOf(log, setAside));
      } catch (error) {
        failure = error;
        this.#parts.telemetry.error('deliveries of a tenant are not queued', error, { tenant: log.tenant });
      }
    }
    if (steps.length === 0) throw failure;
    return steps;
  }

  async #stepOf(log: LogBehind, setAside: SetAside[]): Promise<FollowStep> {
    const { tenant, nextIndex, endIndex } = log;
    const compiled = await this.#compiledOf(tenant);
    const first = Math.min(...(compiled?.firstIndexes.values() ?? []));
    if (compiled === undefined || first > nextIndex)
      return { tenant, nextIndex, endIndex: Math.min(endIndex, Math.max(first, nextIndex + 1)) };
    const owed: Owed[] = [];
    const portion = await nextPortion(this.#parts.log, log);
    // Skip entries that were taken out of the store.
    let next = portion.length === 0 ? endIndex : nextIndex;
    const pause = pausesBy(this.#parts.clock);
    for (const stored of portion) {
      const { index } = stored;
      const isSince = ({ subscription: { subscriptionId } }: Owed) =>
        index >= compiled.firstIndexes.get(subscriptionId)!;
      const onAltered = (reason: string) => setAside.push({ tenantId: tenant, sequence: index + 1, reason });
      owed.push(...owedFor(stored, compiled.subscribers, onAltered).filter(isSince));
      next = index + 1;
      if (owed.length >= JOBS_MAX) break;
      await pause();
    }
    const jobs = await jobsFor(tenant, owed, this.#parts);
    return { tenant, nextIndex, endIndex: next, jobs };
  }

  /** Undefined: nobody is to be told anything. Read after `behind`, so it includes every subscription whose notice is in those entries. */
  async #compiledOf(tenant: TenantId): Promise<Compiled | undefined> {
    const subscriptions = await this.#parts.subscriptions.latest(tenant);
    const tenantRecord = await this.#parts.tenants.find(tenant);
    if (subscriptions.size === 0 || tenantRecord === undefined) return undefined;
    const known = this.#compiled.get(tenant);
    if (known?.subscriptions === subscriptions && known.tenantRecord === tenantRecord) return known;
    const firstIndexes = new Map<string, number>();
    for (const subscription of subscriptions.values())
      firstIndexes.set(subscription.subscriptionId, await this.#firstIndexOf(subscription));
    const subscribers = new Subscribers(subscriptions.values(), tenantRecord);
    const compiled: Compiled = { subscriptions, tenantRecord, subscribers, firstIndexes };
    if (this.#compiled.size >= TENANTS_KEPT_MAX) this.#compiled.clear();
    this.#compiled.set(tenant, compiled);
    return compiled;
  }

  /** The first entry behind the notice of its creation. */
  async #firstIndexOf({ tenantId, noticeId }: SubscriptionRecord): Promise<number> {
    const known = this.#indexes.get(noticeId);
    if (known !== undefined) return known;
    const notice = await this.#parts.log.forTenant(tenantId).event(noticeId, CLASSIFICATIONS);
    // Nobody has made a subscription that has no notice: send it nothing.
    if (notice === undefined) return Infinity;
    this.#indexes.set(noticeId, notice.index + 1);
    return notice.index + 1;
  }
}

interface Compiled {
  readonly subscriptions: unknown;
  readonly tenantRecord: unknown;
  readonly subscribers: Subscribers;
  /** By subscription. */
  readonly firstIndexes: ReadonlyMap<string, number>;
}
