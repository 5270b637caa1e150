// Applies a tenant's policies to an incoming event: its classification, its retention, and which rule decided them. There are
// no policies yet, so the tenant's settings decide: its default classification, which the hint of the sender can raise and
// never lower, and its default retention.

import { type Classification, CLASSIFICATIONS, type Duration, type PolicyId } from '@tallystick/contract';
import { higher } from '../access/roles.ts';
import type { TenantRecord } from '../access/tenants.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import type { EventFacts } from './event-facts.ts';

export interface SentFacts extends EventFacts {
  /** The sender's hint: the lowest classification. */
  readonly hint: Classification | undefined;
}

export interface PolicyVersion {
  readonly policyId: PolicyId;
  readonly version: number;
}

export interface Decision {
  readonly classification: Classification;
  /** From `receivedAt` on. */
  readonly retention: Duration;
  /** Undefined: the settings of the tenant. */
  readonly decidedBy: readonly PolicyVersion[] | undefined;
}

export type Decider = (facts: SentFacts) => Decision;

/** A record that was changed is another object. */
const deciders = new WeakMap<TenantRecord, Decider>();

/** Compiled once for each record. */
export function deciderOf(tenant: TenantRecord): Decider {
  let decider = deciders.get(tenant);
  if (decider === undefined) deciders.set(tenant, (decider = compile(tenant)));
  return decider;
}

function compile({ defaultClassification, defaultRetention: retention }: TenantRecord): Decider {
  // One that is no duration fails this request; in the writer it would fail the pool, with the requests of others.
  expiryAfter(0, retention);
  const decide = (classification: Classification): Decision => ({
    classification,
    retention,
    decidedBy: undefined,
  });
  const byDefault = decide(defaultClassification);
  const byHint = new Map(CLASSIFICATIONS.map((hint) => [hint, decide(higher(defaultClassification, hint))]));
  return ({ hint }) => (hint === undefined ? byDefault : byHint.get(hint)!);
}
