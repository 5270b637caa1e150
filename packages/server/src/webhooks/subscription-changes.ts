// Changes of subscriptions. Each is one commit: the new version, the notice in the tenant's log that tells of it, and the idempotency
// key of the request.

import { AuditError, type ErrorDetail, type SubscriptionId } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import type { Tenancy } from '../access/tenancy.ts';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call } from '../call.ts';
import { type ChangeRecords, recordsOf } from '../records/change.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import { KeyedQueue } from '../runtime/turns.ts';
import { type IdempotencyTime, idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Circuits, Standing } from './circuits.ts';
import { gateJob } from './lane-circuits.ts';
import { budgetFaults, INVALID_URL } from './subscription-faults.ts';
import { standingNow } from './subscription-views.ts';
import { contentOfSubscription, SUBSCRIPTION_KIND, type SubscriptionRecord } from './subscription.ts';
import type { Subscriptions } from './subscriptions.ts';

export interface SubscriptionChangeParts extends IdempotencyTime {
  readonly subscriptions: Subscriptions;
  readonly circuits: Circuits;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly change: ChangeRecords;
  readonly telemetry: Pick<Telemetry, 'info'>;
  readonly nextId: () => string;
  /** There are deliveries to hold back, send or remove. */
  readonly wakeGate: () => void;
}

export type Act = 'Created' | 'Updated' | 'Paused' | 'Resumed' | 'SecretRotated' | 'Deleted';

/** Without the version and who made it. */
export type NextSubscription = Omit<SubscriptionRecord, 'version' | 'updatedAtMs' | 'updatedBy'>;

export interface Changed {
  readonly subscription: NextSubscription;
  readonly act: Act;
}

/** As it is shown in the answer, which a repeat gets again. */
export interface Answered {
  readonly subscription: SubscriptionRecord;
  readonly standing: Standing;
}

/** Undefined where nothing is to be changed. */
type Make = (current: SubscriptionRecord) => Promise<Changed | undefined> | Changed | undefined;

/** The acts after which waiting deliveries are held back, sent or removed. */
const CONCERNS_DELIVERIES: readonly Act[] = ['Updated', 'Paused', 'Resumed', 'Deleted'];
/** While others change the same subscription. */
const ATTEMPTS_MAX = 20;

export class SubscriptionChanges {
  readonly #parts: SubscriptionChangeParts;
  /** Changes of a tenant run one after the other in this process, so they do not conflict. Two nodes together may exceed a limit. */
  readonly #turns = new KeyedQueue();

  constructor(parts: SubscriptionChangeParts) {
    this.#parts = parts;
  }

  async found(call: Call, subscriptionId: SubscriptionId): Promise<SubscriptionRecord> {
    const found = await this.#parts.subscriptions.find(call.tenant!, subscriptionId);
    if (found === undefined || found.isDeleted) throw unknownSubscription(subscriptionId);
    return found;
  }

  async create(call: Call, make: () => Promise<NextSubscription>): Promise<Answered> {
    const tenant = await this.#parts.tenancy.provide(call.tenant!);
    return this.#turns.take(call.tenant!, async () => {
      const next = await make();
      const made = { ...this.#versionOf(call, next, 1), updatedAtMs: next.createdAtMs };
      await this.#requireBudget(made);
      const answered = { subscription: made, standing: await standingNow(made, this.#parts) };
      // Nobody else can have changed it: its id is new.
      await this.#put(call, tenant, answered, 'Created');
      return answered;
    });
  }

  /** `ifMatches` throws if the current version is not the one that the caller has read; another node may have changed it. */
  change(
    call: Call,
    subscriptionId: SubscriptionId,
    ifMatches: (version: number) => void,
    make: Make,
  ): Promise<Answered> {
    return this.#turns.take(call.tenant!, async () => {
      for (let attempt = 1; ; attempt++) {
        const current = await this.found(call, subscriptionId);
        ifMatches(current.version);
        const changed = await make(current);
        if (changed === undefined) return this.#leave(call, current);
        const next = this.#versionOf(call, changed.subscription, current.version + 1);
        if (changed.act === 'Updated') await this.#requireBudget(next);
        const answered = { subscription: next, standing: await standingNow(next, this.#parts) };
        // A subscription belongs to a tenant, so there is one.
        if (await this.#put(call, call.tenantRecord!, answered, changed.act)) return answered;
        if (attempt === ATTEMPTS_MAX)
          throw new AuditError(
            'SERVICE_UNAVAILABLE',
            `The subscription ${subscriptionId} is being changed by others; try again.`,
          );
      }
    });
  }

  /** The request has taken effect: it must not do so once more when it is repeated later. */
  async #leave(call: Call, subscription: SubscriptionRecord): Promise<Answered> {
    const answered = { subscription, standing: await standingNow(subscription, this.#parts) };
    const once = this.#onceOf(call, call.tenantRecord!, answered);
    const { correlationId } = call.correlation;
    if (once !== undefined)
      recordsOf(await this.#parts.change({ owner: subscription.tenantId, writes: [], correlationId, once }));
    return answered;
  }

  #onceOf(call: Call, tenant: TenantRecord, { subscription, standing }: Answered) {
    const note = `${subscription.subscriptionId} ${subscription.version} ${JSON.stringify(standing)}`;
    return onceOf(call, tenant, idempotencyNowMs(this.#parts), UNCLASSIFIED, note);
  }

  /** False if another caller has changed it meanwhile. */
  async #put(call: Call, tenant: TenantRecord, answered: Answered, act: Act): Promise<boolean> {
    const { change, telemetry } = this.#parts;
    const { subscription } = answered;
    const { subscriptionId: id, version, tenantId: owner } = subscription;
    const { requestId, correlationId } = call.correlation;
    // Report it before it is done, so that no change goes unreported.
    telemetry.info('a subscription is changed', {
      tenant: owner,
      subscriptionId: id,
      version,
      act,
      requestId,
      caller: subscription.updatedBy,
    });
    const once = this.#onceOf(call, tenant, answered);
    const notice = {
      kind: KINDS.administration,
      action: ACTIONS[act],
      resource: { resourceType: SUBSCRIPTION_KIND, resourceId: id },
      payload: { act: `Subscription${act}`, requestId, subjectIds: [id], count: 1 },
    };
    const content = contentOfSubscription(subscription);
    const noticeId = act === 'Created' ? subscription.noticeId : undefined;
    const write = { kind: SUBSCRIPTION_KIND, id, version, content, notice, noticeId } as const;
    const jobs = CONCERNS_DELIVERIES.includes(act) ? [gateJob(id, this.#parts.nextId())] : [];
    const result = recordsOf(await change({ owner, writes: [write], correlationId, once, jobs }));
    if ('status' in result) return false;
    if (jobs.length > 0) this.#parts.wakeGate();
    return true;
  }

  async #requireBudget(subscription: SubscriptionRecord): Promise<void> {
    const all = await this.#parts.subscriptions.all(subscription.tenantId);
    requireSound(budgetFaults(subscription, all));
  }

  #versionOf(call: Call, next: NextSubscription, version: number): SubscriptionRecord {
    return { ...next, version, updatedAtMs: this.#parts.clock.now(), updatedBy: call.caller!.name };
  }
}

const ACTIONS: Readonly<Record<Act, string>> = {
  Created: 'Create.Subscription',
  Updated: 'Update.Subscription',
  Paused: 'Pause.Subscription',
  Resumed: 'Resume.Subscription',
  SecretRotated: 'Rotate.Secret',
  Deleted: 'Delete.Subscription',
};

/** If only the URL is at fault, there is a code of its own. */
export function requireSound(details: readonly ErrorDetail[]): void {
  const [first] = details;
  if (first === undefined) return;
  const isOfUrl = details.every(({ field }) => field === 'url');
  const what = `${first.field || 'It'} ${first.issue}`;
  const count = details.length;
  const message = count === 1 ? `${what}.` : `${count} violations; the first: ${what}.`;
  throw new AuditError(isOfUrl ? INVALID_URL : 'VALIDATION_FAILED', message, { details });
}

export function unknownSubscription(subscriptionId: SubscriptionId): AuditError {
  return new AuditError('SUBSCRIPTION_NOT_FOUND', `There is no subscription ${subscriptionId}.`);
}
