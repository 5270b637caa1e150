// A policy and the facts of an event, for tests that are about some of their members.

import type { EventFacts } from '../event-facts.ts';
import type { PolicyRecord } from '../policy.ts';

/** An active Alert policy without rules. */
export function policyRecord(more: Partial<PolicyRecord> = {}): PolicyRecord {
  return {
    policyId: 'policy',
    tenantId: 'acme',
    version: 1,
    name: 'Watch',
    description: undefined,
    policyType: 'Alert',
    status: 'Active',
    priority: 100,
    rules: [],
    createdAtMs: 0,
    createdBy: 'ana',
    updatedAtMs: 0,
    updatedBy: 'ana',
    noticeId: 'notice',
    ...more,
  };
}

/** Without content. */
export function eventFacts(more: Partial<EventFacts> = {}): EventFacts {
  return {
    action: 'Read.Invoice',
    actor: { actorType: 'User', userId: 'ana' },
    resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
    outcome: 'Success',
    classification: 'Internal',
    correlationId: undefined,
    content: () => ({}),
    ...more,
  };
}
