// Callers of the events' operations over real HTTP, each with the clearance that its key names; tenants are free to
// choose. For tests that are about events and not about who may send them.

import type { AuditEvent, BatchResult, Classification, ErrorBody, IngestReceipt } from '@tallystick/contract';
import type { Authenticate } from '../access/credentials.ts';
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

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AnyBody;
  /** `201`, or `422 VALIDATION_FAILED`. */
  readonly code: string;
}

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
  const own = { 'X-API-Key': clearance, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' };
  const ask = async (path: string, headers: Record<string, string>, body?: unknown): Promise<Seen> => {
    const response = await fetch(`${app.url}/api/v1/audit-events${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...own, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer = (text === '' ? {} : JSON.parse(text)) as AnyBody & Partial<ErrorBody>;
    const code = `${response.status} ${answer.error?.code ?? ''}`.trim();
    return { status: response.status, headers: response.headers, body: answer, code };
  };
  return {
    ingest: (event, headers = {}) => ask('', headers, event),
    ingestBatch: (batch, headers = {}) => ask('/batch', headers, batch),
    get: (eventId, headers = {}) => ask(`/${eventId}`, headers),
  };
}
