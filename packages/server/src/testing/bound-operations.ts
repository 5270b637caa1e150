// Operations bound to small functions, and an authenticator that believes one key, so that tests can send
// requests through the whole gateway before the real ones exist.

import { AuditError } from '@tallystick/contract';
import type { Authenticate } from '../access/credentials.ts';
import type { Operations } from '../operations.ts';

export const KEY = 'the-only-key';
export const ALLOWED = { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme' };

export const believeKey: Authenticate = ({ apiKey }) => {
  if (apiKey !== KEY) return Promise.reject(new AuditError('UNAUTHENTICATED', 'That key is not known.'));
  return Promise.resolve({
    name: 'key:01KE0000000000000000000042',
    identity: 'key:01KE0000000000000000000042',
    tenant: 'acme',
    namesTenant: false,
    roles: ['Admin'],
    clearance: 'Secret',
    refusal: (permission) => (permission === 'audit.events.redact' ? 'FORBIDDEN' : undefined),
  });
};

export const EVENT_ID = '01KE0000000000000000000042';

export const EVENT = {
  timestamp: '2026-01-02T03:04:05Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
};

/** Operations that are not there yet, each bound to what a test of the gateway needs of it. */
export function boundOperations(more: Operations = {}): Operations {
  return {
    'events.redact': () => Promise.reject(new Error('never reached')),
    'policies.delete': () => Promise.resolve({ kind: 'Removed', body: undefined }),
    'exports.delete': () => Promise.reject(new AuditError('EXPORT_NOT_FOUND', 'There is no such export.')),
    'status.get': () => Promise.reject(new Error('SELECT secret FROM /etc/passwd')),
    ...more,
  };
}
