// What a notification tells, read when it is sent, as the subscription may see it then. An event that is gone, or that it may not see
// any more, is not sent.

import type { ThresholdCrossing, TenantId } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import type { Tenants } from '../access/tenants.ts';
import { noteSecretsTold, showViolation, violationSeen } from '../alerts/seen-violation.ts';
import type { ViolationStore } from '../alerts/violations.ts';
import type { Call, Correlation } from '../call.ts';
import { noteSecretsRead, type ReadNoticeParts } from '../events/secret-read.ts';
import { judgesOf, type Published, showEvent } from '../events/show.ts';
import { instant } from '../runtime/clock.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import { readWritten } from '../written-json.ts';
import type { Content } from './sender.ts';
import { readerOf, type SubscriptionRecord } from './subscription.ts';
import type { Source } from './task.ts';

export interface ContentParts extends ReadNoticeParts {
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly violations: ViolationStore;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly publishedOf: (call: Pick<Call, 'tenant'>, index: number) => Promise<Published>;
}

type ReaderCall = Pick<Call, 'caller' | 'tenant' | 'tenantRecord' | 'correlation'>;

export class Contents {
  readonly #parts: ContentParts;
  readonly #readers = new WeakMap<SubscriptionRecord, NonNullable<Call['caller']>>();
  /** Of events that are being read: many subscriptions are told of one event at the same time. */
  readonly #reading = new Map<string, Promise<StoredEvent | undefined>>();

  constructor(parts: ContentParts) {
    this.#parts = parts;
  }

  /** Undefined: there is nothing to be told. `requestId`: names the reading in the log. */
  async of(
    source: Source,
    subscription: SubscriptionRecord,
    requestId: string,
  ): Promise<Content | undefined> {
    if (source.of === 'System') return { system: canonicalJson(source.change) };
    const call = await this.#callOf(subscription, requestId);
    if (call.tenantRecord === undefined || call.tenantRecord.isAltered === true) return undefined;
    return source.of === 'Event'
      ? this.#event(source.index, call, subscription.tenantId)
      : this.#violation(source.violationId, call, subscription.tenantId);
  }

  async #callOf(subscription: SubscriptionRecord, requestId: string): Promise<ReaderCall> {
    const { tenantId: tenant } = subscription;
    let caller = this.#readers.get(subscription);
    if (caller === undefined) this.#readers.set(subscription, (caller = readerOf(subscription)));
    const correlation: Correlation = {
      correlationId: requestId,
      correlationIsGiven: false,
      traceId: '',
      requestId,
    };
    return { caller, tenant, tenantRecord: await this.#parts.tenants.find(tenant), correlation };
  }

  async #event(index: number, call: ReaderCall, tenant: TenantId): Promise<Content | undefined> {
    const [stored, published] = await Promise.all([
      this.#read(tenant, index),
      this.#parts.publishedOf({ tenant }, index),
    ]);
    if (stored === undefined) return undefined;
    const shown = showEvent(tenant, stored, judgesOf(call), published);
    if (!('event' in shown)) return undefined;
    const { event } = shown;
    await noteSecretsRead(call, [event], this.#parts);
    const { context, payload } = event;
    const read = {
      ...event,
      ...(context !== undefined && { context: readWritten(context) }),
      ...(payload !== undefined && { payload: readWritten(payload) }),
    };
    return { event: canonicalJson(read) };
  }

  #read(tenant: TenantId, index: number): Promise<StoredEvent | undefined> {
    const key = `${index} ${tenant}`;
    let reading = this.#reading.get(key);
    if (reading === undefined) {
      reading = this.#parts.log
        .forTenant(tenant)
        .events(index, index + 1, 1)
        .then(([stored]) => stored)
        .finally(() => this.#reading.delete(key));
      this.#reading.set(key, reading);
    }
    return reading;
  }

  async #violation(id: string, call: ReaderCall, tenant: TenantId): Promise<Content | undefined> {
    const stored = await this.#parts.violations.forTenant(tenant).find(id);
    const seen = stored && (await violationSeen(call, stored, this.#parts));
    if (seen === undefined) return undefined;
    await noteSecretsTold(call, [seen], this.#parts);
    const violation = showViolation(seen);
    if (violation.kind === 'Violation') return { violation: canonicalJson(violation) };
    const crossing: ThresholdCrossing = {
      thresholdId: violation.violationId as string,
      name: violation.policyName,
      observedValue: violation.observedValue ?? 0,
      threshold: violation.threshold?.count ?? 0,
      window: violation.threshold?.window ?? 'PT0S',
      groupKey: violation.groupKey ?? '',
      severity: violation.severity,
      detectedAt: instant(seen.violation.detectedAtMs),
    };
    return { threshold: canonicalJson(crossing) };
  }
}
