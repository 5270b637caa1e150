// A client that keeps book: what it asked, what it was told, and what it never got an answer to.

import { Agent, request } from 'node:http';
import { KEY } from './running.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly tenant?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Told when all of it has been handed to the system. */
  readonly onSent?: () => void;
}

export class Client implements Disposable {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(url: string, connections = 64) {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Rejects when no answer came. */
  ask({
    method = 'POST',
    path = '/api/v1/audit-events',
    tenant = 'acme',
    key,
    headers,
    body,
    onSent,
  }: Ask): Promise<Reply> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        `${this.#url}${path}`,
        {
          method,
          agent: this.#agent,
          headers: {
            'X-API-Key': KEY,
            'X-Tenant-Id': tenant,
            ...(text === undefined
              ? {}
              : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
            ...(key === undefined ? {} : { 'Idempotency-Key': key }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const received = Buffer.concat(chunks).toString();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: received === '' ? undefined : (JSON.parse(received) as unknown),
            });
          });
        },
      );
      sent.on('error', reject);
      if (onSent !== undefined) sent.once('finish', onSent);
      sent.end(text);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** A client for each service that is asked. */
export class Clients implements Disposable {
  readonly #clients = new Map<string, Client>();

  of(url: string): Client {
    let client = this.#clients.get(url);
    if (client === undefined) this.#clients.set(url, (client = new Client(url)));
    return client;
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients.values()) client[Symbol.dispose]();
  }
}

export function event(marker: string) {
  return {
    timestamp: '2026-01-02T03:04:05.678Z',
    actor: { actorType: 'User', userId: 'u-1' },
    action: 'Approve.Invoice',
    resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
    payload: { marker },
  };
}

/** The ids of the events that an answer acknowledges, single or batch. */
export function acknowledgedIn({ body }: Reply): string[] {
  const { eventId, results } = body as { eventId?: string; results?: { eventId?: string; status: string }[] };
  if (eventId !== undefined) return [eventId];
  return (results ?? [])
    .filter(({ status }) => status === 'Accepted' || status === 'Duplicate')
    .map((result) => result.eventId!);
}
