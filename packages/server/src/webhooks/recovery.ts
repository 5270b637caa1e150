// Sends again what was not acknowledged: reads the log from a given time on, as the notifier does, and queues what is owed. Deliveries that
// are queued already, or were acknowledged, stay as they are; dead letters start again. It is a job, because a log may be long.

import { type BackgroundOperation, CLASSIFICATIONS, type TenantId } from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import type { Tenants } from '../access/tenants.ts';
import type { StoredViolation, ViolationStore } from '../alerts/violations.ts';
import type { Clock } from '../runtime/clock.ts';
import { entryOf } from '../followers/entry-of.ts';
import { pausesBy } from '../runtime/pause.ts';
import type { LogReader } from '../streams/log.ts';
import { type Requested, shownOperation } from '../work/background-operation.ts';
import type { Job, JobOutcome, NewJob, WorkStore } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { jobOf, owedFor, owedForViolation } from './owed.ts';
import { Subscribers } from './subscribers.ts';
import type { SubscriptionRecord } from './subscription.ts';

export const RECOVERY = 'Recovery';

export interface RecoveryTask extends Requested {
  readonly subscriptionId: string;
  readonly sinceMs: number;
}

export interface RecoveryParts {
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly violations: ViolationStore;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly subscriptions: KnownSubscriptions;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly wakeDeliverer: () => void;
}

interface Found {
  readonly processedEvents: number;
  readonly totalEvents: number;
  readonly queued: number;
}

const AT_ONCE = 2;
/** Logs may be long, and one tenant's recoveries must not keep other tenants waiting. */
const PER_TENANT = 1;
const ATTEMPTS_MAX = 5;
const KEPT_MS = 30 * 86_400_000;
const PORTION = 500;
const PORTION_BYTES = 4 * 1024 * 1024;
/** The clock may have been set back by this much, so start looking that much earlier. */
const SET_BACK_MS = 2 * 3_600_000;

export function recoveryWork(parts: RecoveryParts): KindOfWork {
  return {
    kind: RECOVERY,
    atOnce: AT_ONCE,
    perLane: 1,
    attemptsMax: ATTEMPTS_MAX,
    limits: () => ({ perTenant: PER_TENANT }),
    async handle({ tenant, body }, { signal, progress }): Promise<JobOutcome> {
      const { subscriptionId, sinceMs } = parseJson(body) as RecoveryTask;
      const subscription = (await parts.subscriptions.latest(tenant)).get(subscriptionId);
      const tenantRecord = await parts.tenants.find(tenant);
      if (subscription === undefined || tenantRecord === undefined)
        return ended({ failureReason: 'The subscription was deleted.' });
      const recovering = new Recovering(
        subscription,
        new Subscribers([subscription], tenantRecord),
        sinceMs,
        parts,
      );
      const found = await recovering.run(signal, (state) => progress(JSON.stringify(state)));
      parts.wakeDeliverer();
      return ended(found);
    },
    outOfAttempts: () => ended({ failureReason: 'The log could not be read; the diagnostics say why.' }),
  };
}

function ended(result: Found | { readonly failureReason: string }): JobOutcome {
  return { status: 'Done', result: JSON.stringify(result), keepMs: KEPT_MS };
}

class Recovering {
  readonly #subscription: SubscriptionRecord;
  readonly #subscribers: Subscribers;
  readonly #sinceMs: number;
  readonly #parts: RecoveryParts;
  #queued = 0;

  constructor(
    subscription: SubscriptionRecord,
    subscribers: Subscribers,
    sinceMs: number,
    parts: RecoveryParts,
  ) {
    this.#subscription = subscription;
    this.#subscribers = subscribers;
    this.#sinceMs = sinceMs;
    this.#parts = parts;
  }

  async run(signal: AbortSignal, report: (found: Found) => void): Promise<Found> {
    const { tenantId: tenant } = this.#subscription;
    const endIndex = await this.#endOf(tenant);
    const firstIndex = await this.#firstSince(tenant, endIndex);
    const found = (index: number): Found => ({
      processedEvents: index - firstIndex,
      totalEvents: endIndex - firstIndex,
      queued: this.#queued,
    });
    const pause = pausesBy(this.#parts.clock);
    for (let from = firstIndex; from < endIndex; ) {
      signal.throwIfAborted();
      const way = { bytesMax: PORTION_BYTES };
      const portion = await this.#parts.log.forTenant(tenant).events(from, endIndex, PORTION, way);
      if (portion.length === 0) break;
      const since = portion.filter((stored) => {
        const entry = entryOf(stored);
        return 'receivedAtMs' in entry && entry.receivedAtMs >= this.#sinceMs;
      });
      const jobs: NewJob[] = [];
      for (const stored of since) {
        jobs.push(
          ...owedFor(stored, this.#subscribers).map((owed) => jobOf(tenant, owed, this.#parts.nextId())),
        );
        await pause();
      }
      await this.#enqueue(jobs);
      from = portion.at(-1)!.index + 1;
      report(found(from));
    }
    await this.#violations(signal);
    return found(endIndex);
  }

  async #enqueue(jobs: readonly NewJob[]): Promise<void> {
    if (jobs.length === 0) return;
    this.#queued += await this.#parts.work.forTenant(this.#subscription.tenantId).enqueueAll(jobs);
    this.#parts.wakeDeliverer();
  }

  async #endOf(tenant: TenantId): Promise<number> {
    const [newest] = await this.#parts.log.forTenant(tenant).streams({ before: undefined }, 1);
    return newest?.endIndex ?? 0;
  }

  /** The first entry that may have been received since then: times rise along the log, unless a clock was set back. */
  async #firstSince(tenant: TenantId, endIndex: number): Promise<number> {
    const fromMs = this.#sinceMs - SET_BACK_MS;
    let [low, high] = [0, endIndex];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [stored] = await this.#parts.log.forTenant(tenant).events(middle, middle + 1, 1);
      const entry = stored === undefined ? undefined : entryOf(stored);
      // An altered entry has no time that can be trusted: look before it, too.
      if (entry === undefined || 'fault' in entry || entry.receivedAtMs >= fromMs) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  async #violations(signal: AbortSignal): Promise<void> {
    const { tenantId: tenant } = this.#subscription;
    const types = ['PolicyViolated', 'ThresholdExceeded'] as const;
    if (types.every((type) => this.#subscribers.of(type).length === 0)) return;
    const ofTenant = this.#parts.violations.forTenant(tenant);
    const filter = { fromMs: this.#sinceMs, classification: CLASSIFICATIONS };
    for (let beyond: string | undefined; ; ) {
      signal.throwIfAborted();
      const portion = await ofTenant.list(filter, { way: 'Falling', beyond, limit: PORTION });
      const owed = await Promise.all(portion.map((each) => this.#owedFor(tenant, each)));
      await this.#enqueue(owed.flat());
      if (portion.length < PORTION) return;
      beyond = portion.at(-1)!.violationId;
    }
  }

  async #owedFor(tenant: TenantId, violation: StoredViolation): Promise<NewJob[]> {
    const stored = await this.#parts.log.forTenant(tenant).event(violation.eventId, CLASSIFICATIONS);
    if (stored === undefined) return [];
    return owedForViolation(violation, stored, this.#subscribers).map((owed) =>
      jobOf(tenant, owed, this.#parts.nextId()),
    );
  }
}

/** Undefined for a job of another kind. */
export function recoveryOperation(job: Job | undefined): BackgroundOperation | undefined {
  if (job?.kind !== RECOVERY) return undefined;
  const result =
    job.result === undefined ? undefined : (parseJson(job.result) as Found | { failureReason: string });
  const progress = job.progress === undefined ? undefined : (parseJson(job.progress) as Found);
  const found = result !== undefined && 'queued' in result ? result : progress;
  const { queued = 0, ...rest } = found ?? { processedEvents: 0, totalEvents: 0 };
  return {
    operationId: job.jobId,
    kind: 'Recovery',
    ...shownOperation(parseJson(job.body) as RecoveryTask, rest, result, job),
    queuedDeliveries: queued,
  };
}
