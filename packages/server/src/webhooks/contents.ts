// The content of a notification, read when it is sent, as the subscription may see it at that moment. An event that is gone, or that the
// subscription may no longer see, is not sent.

import { isDeepStrictEqual } from 'node:util';
import type { AuditEvent, Classification, TenantId, ThresholdCrossing } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import type { Caller } from '../access/caller.ts';
import { higher } from '../access/roles.ts';
import type { Tenants } from '../access/tenants.ts';
import { noteSecretsTold, showViolation, violationSeen } from '../alerts/seen-violation.ts';
import type { ViolationStore } from '../alerts/violations.ts';
import type { Call, Correlation } from '../call.ts';
import { noteSecretsRead, type ReadNoticeParts } from '../events/secret-read.ts';
import { judgesOf, type Published, showEvent } from '../events/show.ts';
import type { Sight } from '../policies/sight.ts';
import { instant } from '../runtime/clock.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';
import { readWritten } from '../written-json.ts';
import { EventReads } from './event-reads.ts';
import { RecentReads } from './recent-reads.ts';
import type { Content } from './sender.ts';
import { readerOf, sharedReaderOf, type SubscriptionRecord } from './subscription.ts';
import type { Source } from './task.ts';

export interface ContentParts extends ReadNoticeParts {
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly violations: ViolationStore;
  readonly tenants: Pick<Tenants, 'find'>;
  /** How an export ended, as this reader may see it; undefined if it is deleted. */
  readonly exportTold: (reader: Caller, ended: EndedExport) => Promise<object | undefined>;
  readonly publishedOf: (call: Pick<Call, 'tenant'>, index: number) => Promise<Published>;
}

interface Readers {
  /** The name under which reads are noted. */
  readonly caller: Caller;
  readonly shared: Caller;
}

/** In this version of its record. */
export type EndedExport = Extract<Source, { of: 'Export' }>;

/** What a delivery tells. */
export interface Told {
  readonly content: Content;
  /** The highest classification among the events that it is about; undefined: it is about none. */
  readonly classification: Classification | undefined;
  /** Whether nothing of what it was made of has been removed since. */
  readonly isUnchanged: () => Promise<boolean>;
}

type ReaderCall = Pick<Call, 'tenant' | 'tenantRecord' | 'correlation'> & Readers;

/** What the subscription may see cannot be known at the moment: the tenant's settings, policies or holds were altered in the store. */
export class UnreadableTenant extends Error {}

export class Contents {
  readonly #parts: ContentParts;
  readonly #readers = new WeakMap<SubscriptionRecord, Readers>();
  /** Many subscriptions are told of one event at the same time, so it is read and written as text once for all of them. */
  readonly #events: RecentReads<StoredEvent | undefined>;
  readonly #reads: EventReads;
  readonly #published: RecentReads<Published>;
  #texts = new WeakMap<StoredEvent, WeakMap<Sight, ShownText>>();

  constructor(parts: ContentParts) {
    this.#parts = parts;
    this.#events = new RecentReads(parts.clock);
    this.#reads = new EventReads(parts.log);
    this.#published = new RecentReads(parts.clock);
  }

  /** Undefined: there is nothing to tell. Throws UnreadableTenant. The log names the read by `requestId`. */
  async of(source: Source, subscription: SubscriptionRecord, requestId: string): Promise<Told | undefined> {
    if (source.of === 'System') return aboutNoEvent({ system: canonicalJson(source.change) });
    if (source.of === 'Level') return aboutNoEvent({ threshold: canonicalJson(source.crossing) });
    if (source.of === 'Export') {
      const told = await this.#parts.exportTold(readerOf(subscription), source);
      return told && aboutNoEvent({ export: canonicalJson(told) });
    }
    const call = await this.#callOf(subscription, requestId);
    if (call.tenantRecord === undefined) return undefined;
    if (call.tenantRecord.isAltered === true)
      throw new UnreadableTenant(`the records of ${subscription.tenantId} were altered`);
    return source.of === 'Event'
      ? this.#event(source.index, call, subscription.tenantId)
      : this.#violation(source.violationId, call, subscription.tenantId);
  }

  async #callOf(subscription: SubscriptionRecord, requestId: string): Promise<ReaderCall> {
    const { tenantId: tenant } = subscription;
    let readers = this.#readers.get(subscription);
    if (readers === undefined) {
      readers = { caller: readerOf(subscription), shared: sharedReaderOf(subscription) };
      this.#readers.set(subscription, readers);
    }
    const correlation: Correlation = {
      correlationId: requestId,
      correlationIsGiven: false,
      traceId: '',
      requestId,
    };
    return { ...readers, tenant, tenantRecord: await this.#parts.tenants.find(tenant), correlation };
  }

  async #event(index: number, call: ReaderCall, tenant: TenantId): Promise<Told | undefined> {
    const { publishedOf } = this.#parts;
    const [stored, published] = await Promise.all([
      this.#events.get(`${index} ${tenant}`, () => this.#reads.at(tenant, index)),
      this.#published.get(tenant, () => publishedOf({ tenant }, index)),
    ]);
    const current = published.firstIndex <= index ? published : await publishedOf({ tenant }, index);
    if (stored === undefined) return undefined;
    const shown = this.#shownText(tenant, stored, call, current);
    if (shown === undefined) return undefined;
    await noteSecretsRead(call, [shown], this.#parts);
    return {
      content: { event: shown.text },
      classification: stored.classification,
      isUnchanged: async () =>
        isDeepStrictEqual((await this.#reads.at(tenant, index))?.content, stored.content),
    };
  }

  /** Undefined: the reader does not get it. */
  #shownText(
    tenant: TenantId,
    stored: StoredEvent,
    call: ReaderCall,
    published: Published,
  ): ShownText | undefined {
    const judges = judgesOf({ ...call, caller: call.shared });
    let texts = this.#texts.get(stored);
    if (texts === undefined) this.#texts.set(stored, (texts = new WeakMap()));
    const known = texts.get(judges.sight);
    if (known !== undefined) return known;
    const shown = showEvent(tenant, stored, judges, published);
    if (!('event' in shown)) return undefined;
    const { eventId, classification } = shown.event;
    const made = { eventId, classification, text: canonicalJson(readOf(shown.event)) };
    texts.set(judges.sight, made);
    return made;
  }

  async #violation(id: string, call: ReaderCall, tenant: TenantId): Promise<Told | undefined> {
    const violations = this.#parts.violations.forTenant(tenant);
    const stored = await violations.find(id);
    const seen = stored && (await violationSeen(call, stored, this.#parts));
    if (seen === undefined) return undefined;
    await noteSecretsTold(call, [seen], this.#parts);
    const about = {
      classification: higher(stored!.classification, stored!.highest),
      isUnchanged: async () => isDeepStrictEqual(await violations.find(id), stored),
    };
    const violation = showViolation(seen);
    if (violation.kind === 'Violation') return { content: { violation: canonicalJson(violation) }, ...about };
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
    return { content: { threshold: canonicalJson(crossing) }, ...about };
  }
}

function aboutNoEvent(content: Content): Told {
  return { content, classification: undefined, isUnchanged: async () => true };
}

type ShownText = Pick<AuditEvent, 'eventId' | 'classification'> & { readonly text: string };

/** With its content as values. */
function readOf(event: AuditEvent): AuditEvent {
  const { context, payload } = event;
  return {
    ...event,
    ...(context !== undefined && { context: readWritten(context) }),
    ...(payload !== undefined && { payload: readWritten(payload) }),
  };
}
