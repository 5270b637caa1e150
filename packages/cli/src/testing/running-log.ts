// A real service with a tenant's log, on a data directory that outlives it, and a proxy before it that can lie; for tests. It
// runs in the process of the test, which takes a tenth of the work of a process of its own: the commands that ask it do not.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { startTestApp } from '../../../server/src/testing/test-app.ts';
import type { Place } from './place.ts';

export const ADMIN_KEY = 'the-platform-key-of-these-tests';
export const TENANT = 'acme';

export interface RunningLog extends AsyncDisposable {
  /** Of the service. */
  readonly url: string;
  /** Of the log. */
  readonly address: string;
  get(path: string): Promise<string>;
  /** Sends so many events and waits until a checkpoint covers them; gives its size. */
  send(count: number, action?: string): Promise<number>;
  seal(): Promise<void>;
}

export async function startLog(place: Place): Promise<RunningLog> {
  const app = await startTestApp({
    ...place.env,
    TALLYSTICK_ADMIN_KEY: ADMIN_KEY,
    Log__CheckpointInterval: 'PT0.05S',
  });
  const { url } = app;
  const headers = { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' };
  const ask = async (path: string, body?: unknown) => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      headers,
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answers ${response.status}: ${text}`);
    return text;
  };
  const get = (path: string) => ask(path);
  return {
    url,
    address: `${url}/api/v1/log/t/${TENANT}`,
    get,
    async send(count, action = 'Delete.Invoice') {
      const events = Array.from({ length: count }, () => eventOf(action));
      const { results } = JSON.parse(await ask('audit-events/batch', { events })) as BatchAnswer;
      // The service itself waits for a checkpoint before it proves anything.
      const proof = await get(`audit-events/${results.at(-1)!.eventId}/proof`);
      return (JSON.parse(proof) as { treeSize: number }).treeSize;
    },
    async seal() {
      await ask(`event-streams/${await openStream(get)}/seal`, {});
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

function eventOf(action: string) {
  return {
    timestamp: '2026-01-02T03:04:05.678Z',
    actor: { actorType: 'User', userId: 'u-42' },
    action,
    resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
    payload: { note: 'duplicate of INV-41' },
  };
}

interface BatchAnswer {
  readonly results: readonly { readonly eventId: string }[];
}

interface Listed {
  readonly data: readonly { readonly streamId: string; readonly status: string }[];
}

async function openStream(get: (path: string) => Promise<string>): Promise<string> {
  const { data } = JSON.parse(await get('event-streams')) as Listed;
  return data.find(({ status }) => status === 'Open')!.streamId;
}

/** What goes to the reader in place of what the service said; undefined leaves it as it is. */
export type Lie = (path: string, bytes: Buffer) => Buffer | undefined;

export interface LyingProxy extends AsyncDisposable {
  readonly url: string;
  lie: Lie;
  target: string;
  /** Awaited before a request is passed on. */
  before: (request: IncomingMessage) => Promise<void> | void;
  /** Whether the answer is lost, although the service has done what it was asked. */
  loses: (request: IncomingMessage) => boolean;
  /** Every path that was asked for. */
  readonly asked: string[];
}

export async function startProxy(target: string): Promise<LyingProxy> {
  const server: Server = createServer((request, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/';
    proxy.asked.push(path);
    await proxy.before(request);
    const { status, bytes } = await forward(`${proxy.target}${path}`, request);
    if (proxy.loses(request)) return void response.destroy();
    response.writeHead(status);
    response.end(proxy.lie(path, bytes) ?? bytes);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: LyingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lie: () => undefined,
    before: () => {},
    loses: () => false,
    target,
    asked: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

const PASSED_ON = ['x-api-key', 'x-tenant-id', 'content-type', 'if-match', 'idempotency-key'];

async function forward(url: string, request: IncomingMessage) {
  const headers = PASSED_ON.flatMap((name): [string, string][] => {
    const value = request.headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const { method = 'GET' } = request;
  const body = method === 'GET' ? null : await text(request);
  const response = await fetch(url, { method, headers, body });
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
}
