// The one who asks, of one tenant, over one connection: requests are made before the clock runs, and what is no success
// is an error.

import { type Answer, Connection, headersOf, requestOf } from './connection.ts';

export interface Asked {
  readonly path: string;
  /** Sent as JSON, by POST; without it, GET. */
  readonly body?: object;
}

const INDEXED_MS_MAX = 600_000;

/** A connection for each time: the service closes one that is idle. */
export async function untilIndexed(service: { readonly port: number }, platformKey: string): Promise<void> {
  using caller = new Caller(service, platformKey, 'any');
  await caller.untilAllIndexed();
}

export class Caller implements Disposable {
  readonly #connection: Connection;
  readonly #headers: string;

  constructor({ port }: { readonly port: number }, apiKey: string, tenant: string) {
    this.#connection = new Connection(port);
    this.#headers = headersOf(apiKey, tenant);
  }

  async ask({ path, body }: Asked): Promise<Answer> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const method = bytes === undefined ? 'GET' : 'POST';
    const answer = await this.#connection.ask(requestOf(method, path, this.#headers, bytes));
    if (answer.status === 200) return answer;
    throw new Error(`${path} answers ${answer.status}: ${String(answer.body)}`);
  }

  async get<T>(path: string): Promise<T> {
    return JSON.parse(String((await this.ask({ path })).body)) as T;
  }

  /** How far the index is behind the log. */
  async lagMs(): Promise<number> {
    const { head } = await this.ask({ path: '/api/v1/audit-events?limit=1' });
    const lag = /^X-Projection-Lag-Ms: (\d+)/im.exec(head);
    if (lag === null) throw new Error(`a list does not say how far the index is behind: ${head}`);
    return Number(lag[1]);
  }

  /** Until the index has come after the logs of all tenants; for a platform key. */
  async untilAllIndexed(msMax = INDEXED_MS_MAX): Promise<void> {
    const deadline = performance.now() + msMax;
    for (;;) {
      const { projections } = await this.get<{ projections: { lagMs: number }[] }>('/api/v1/status');
      if (projections.every(({ lagMs }) => lagMs === 0)) return;
      if (performance.now() > deadline) throw new Error('the index does not come after the logs');
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  /** Until the index has come after the log: what it has left to do would be taken for the cost of what is measured next. */
  async untilIndexed(msMax = INDEXED_MS_MAX): Promise<void> {
    if (!(await this.isIndexedWithin(msMax))) throw new Error('the index does not come after the log');
  }

  async isIndexedWithin(msMax: number): Promise<boolean> {
    const deadline = performance.now() + msMax;
    while ((await this.lagMs()) > 0) {
      if (performance.now() > deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return true;
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}
