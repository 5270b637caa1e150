// Request headers by lower-case name, a repeated one joined by ", "; and the facts of a call that all protocols over HTTP
// read from them.

import type { Arrival } from '../../gateway/pipeline.ts';
import type { Exchange } from './mount.ts';

export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>;

export function header(headers: HeaderValues, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value.join(', ');
}

export type CallFacts = Pick<Arrival, 'credentials' | 'tenant' | 'idempotencyKey'>;

export function callFacts({
  request: { headers },
  address,
}: Pick<Exchange, 'request' | 'address'>): CallFacts {
  return {
    credentials: {
      authorization: header(headers, 'authorization'),
      apiKey: header(headers, 'x-api-key'),
      address,
    },
    tenant: header(headers, 'x-tenant-id'),
    idempotencyKey: header(headers, 'idempotency-key'),
  };
}
