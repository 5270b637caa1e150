// An event as a reader gets it, for tests of the search; any of its members can be another.

import type { AuditEvent } from '@tallystick/contract';
import { withheldContent } from '../../policies/sight.ts';

export function shownEvent(changed: Partial<AuditEvent> = {}): AuditEvent {
  return {
    eventId: '01KE0000000000000000000042',
    tenantId: 'acme',
    kind: 'Event',
    sequence: 1841,
    timestamp: '2026-01-02T03:04:05.123456789Z',
    receivedAt: '2026-01-02T03:04:06.000Z',
    correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
    actor: { actorType: 'User', userId: 'u-1', userName: 'ana@acme.test' },
    action: 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: 'INV-42', resourceName: 'Rechnung für Müller' },
    classification: 'Internal',
    outcome: 'Success',
    context: { ipAddress: '10.0.0.1', agent: { name: 'browser' } },
    payload: {
      note: 'The customer asked for a refund.',
      amount: 1000.5,
      paid: true,
      approvedBy: null,
      'due date': '2026-02-01',
      empty: {},
      tags: ['urgent', 'finance'],
      lines: [
        { sku: 'A-1', quantity: 2 },
        { sku: 'B-2', quantity: 30 },
      ],
    },
    submittedBy: 'key:01KE00000000000000000000K1',
    integrity: {
      streamId: '01KE00000000000000000000S1',
      leafIndex: 1840,
      leafHash: '0'.repeat(64),
      previousHash: '0'.repeat(64),
      status: 'Chained',
    },
    ...changed,
  };
}

/** The same for a reader who is not cleared for its content. */
export function withheldEvent(): AuditEvent {
  return shownEvent({ classification: 'Confidential', ...withheldContent() });
}
