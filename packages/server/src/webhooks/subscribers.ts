// Which subscriptions of a tenant are told of an event. The conditions of all of them are compiled together, so a thousand take hardly longer
// than ten. There is one set for each sight, because filters match the event as the subscription sees it.

import type { AuditEvent, Classification, EventRedaction, SubscribedEventType } from '@tallystick/contract';
import type { TenantRecord } from '../access/tenants.ts';
import { factsOf } from '../events/show.ts';
import { type Condition, conditionsOf } from '../policies/condition.ts';
import type { EventFacts } from '../policies/event-facts.ts';
import { RuleSet } from '../policies/rule-set.ts';
import { areSeen } from '../policies/seen-conditions.ts';
import { contentSeen, type Sight, sightOf, type Visibility } from '../policies/sight.ts';
import type { StoredEvent } from '../streams/log.ts';
import { subscribedTypes } from './event-types.ts';
import { sharedReaderOf, type SubscriptionRecord } from './subscription.ts';

interface Asking {
  readonly subscription: SubscriptionRecord;
  readonly conditions: readonly Condition[];
}

interface Group {
  readonly sight: Sight;
  readonly rules: RuleSet;
  readonly asking: readonly Asking[];
}

/** For one event type whose notifications are about an event. */
class Matcher {
  readonly #groups: readonly Group[];

  constructor(subscriptions: readonly SubscriptionRecord[], tenantRecord: TenantRecord) {
    const seeing = subscriptions.map((subscription) => ({
      subscription,
      conditions: conditionsOf({ conditions: subscription.filters, ruleId: subscription.subscriptionId }),
      sight: sightOf({ caller: sharedReaderOf(subscription), tenantRecord }),
    }));
    this.#groups = [...Map.groupBy(seeing, ({ sight }) => sight)].map(([sight, asking]) => ({
      sight,
      asking,
      rules: new RuleSet(asking.map(({ conditions }) => conditions)),
    }));
  }

  matching(stored: StoredEvent): SubscriptionRecord[] {
    if (this.#groups.length === 0) return [];
    const facts = factsOf(stored);
    if (facts === undefined) return [];
    return this.#groups.flatMap((group) => matchingIn(group, facts, stored.classification));
  }
}

function matchingIn(
  { sight, rules, asking }: Group,
  facts: EventFacts,
  classification: Classification,
): SubscriptionRecord[] {
  const visibility = sight.judge({ kind: 'Event', classification, facts: () => facts });
  if (visibility.extent === 'Invisible') return [];
  const matched = rules.matching(facts).map((number) => asking[number]!);
  if (matched.length === 0) return [];
  const isWhole = visibility.extent === 'Whole' && visibility.withheldFields.length === 0;
  const redaction = isWhole ? undefined : redactionIn(visibility, facts);
  return matched
    .filter(({ conditions }) => areSeen(conditions, redaction))
    .map(({ subscription }) => subscription);
}

function redactionIn(visibility: Visibility, facts: EventFacts): EventRedaction | undefined {
  const { actor, resource } = facts;
  return contentSeen<Partial<AuditEvent>>(visibility, { ...facts.content(), actor, resource }).redaction;
}

export class Subscribers {
  readonly #byType: ReadonlyMap<SubscribedEventType, readonly SubscriptionRecord[]>;
  readonly #matchers = new Map<SubscribedEventType, Matcher>();
  readonly #tenantRecord: TenantRecord;

  constructor(subscriptions: Iterable<SubscriptionRecord>, tenantRecord: TenantRecord) {
    const byType = new Map<SubscribedEventType, SubscriptionRecord[]>();
    for (const subscription of subscriptions)
      for (const type of subscribedTypes(subscription))
        byType.set(type, [...(byType.get(type) ?? []), subscription]);
    this.#byType = byType;
    this.#tenantRecord = tenantRecord;
  }

  /** Regardless of their filters. */
  of(type: SubscribedEventType): readonly SubscriptionRecord[] {
    return this.#byType.get(type) ?? [];
  }

  /** Those whose filters match the event. */
  matching(type: 'AuditEventReceived' | 'PolicyViolated', stored: StoredEvent): SubscriptionRecord[] {
    let matcher = this.#matchers.get(type);
    if (matcher === undefined)
      this.#matchers.set(type, (matcher = new Matcher(this.of(type), this.#tenantRecord)));
    return matcher.matching(stored);
  }
}
