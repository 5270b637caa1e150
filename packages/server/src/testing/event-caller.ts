// Callers of the events' operations over real HTTP, each with the clearance that its key names; tenants are free to
// choose. For tests that are about events and not about who may send them.

import type { AuditEvent, BatchResult, Classification, ErrorBody, IngestReceipt } from '@tallystick/contract';
import type { Authenticate } from '../access/credentials.ts';
import { ask as askOf, type Told } from './ask.ts';
import type { TestApp } from './test-app.ts';

/** Believes every key, and takes it for the caller's clearance. */
export const believeClearance: Authenticate = ({ apiKey }) =>
  Promise.resolve({
    name: `key:${KEY_ID}`,
    identity: `key:${KEY_ID}`,
    tenant: '*',
    namesTenant: false,
    roles: ['Admin'],
    clearance: apiKey as Classification,
    refusal: () => undefined,
  });

export const KEY_ID = '01KE0000000000000000000001';

/** The answer to any request is one of these; a test knows which. */
export type AnyBody = Omit<IngestReceipt, 'status'> &
  Omit<BatchResult, 'status' | 'error'> &
  Required<AuditEvent> &
  ErrorBody & { status: string };

export type Seen = Told<AnyBody>;

export interface EventCaller {
  ingest(event: unknown, headers?: Record<string, string>): Promise<Seen>;
  ingestBatch(batch: unknown, headers?: Record<string, string>): Promise<Seen>;
  get(eventId: string, headers?: Record<string, string>): Promise<Seen>;
}

/** A body that is text is sent as it is. */
export function eventCaller(
  app: TestApp,
  tenant = 'acme',
  clearance: Classification = 'Secret',
): EventCaller {
  const ask = (path: string, headers: Record<string, string>, body?: unknown): Promise<Seen> =>
    askOf(app, body === undefined ? 'GET' : 'POST', `/api/v1/audit-events${path}`, {
      key: clearance,
      tenant,
      headers,
      body,
    });
  return {
    ingest: (event, headers = {}) => ask('', headers, event),
    ingestBatch: (batch, headers = {}) => ask('/batch', headers, batch),
    get: (eventId, headers = {}) => ask(`/${eventId}`, headers),
  };
}
