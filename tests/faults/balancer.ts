// A load balancer as people have it before several nodes: it sends to those that say they are ready, and where a connection is
// refused it tries the next. It repeats nothing that a node has taken.

import { setTimeout as pause } from 'node:timers/promises';
import { acknowledgedIn, type Ask, Client, event, type Reply } from './client.ts';

const LOOK_MS = 50;
const CONNECTIONS = 8;
const TENANTS = ['acme', 'globex', 'initech'];
/** Also while nothing is being restarted. */
const ROUNDS_AROUND = 50;

export interface LoadBook {
  /** By event, the tenant. */
  readonly acknowledged: Map<string, string>;
  readonly failures: string[];
}

export class Balancer implements AsyncDisposable {
  readonly #nodes: { url: string; isReady: boolean }[];
  readonly #stop = new AbortController();
  readonly #looking: Promise<void>;
  #turn = 0;
  #asked = 0;

  private constructor(urls: readonly string[]) {
    this.#nodes = urls.map((url) => ({ url, isReady: true }));
    this.#looking = this.#look();
  }

  static async start(urls: readonly string[]): Promise<Balancer> {
    return new Balancer(urls);
  }

  /** In the place of that one there is another, which is ready. */
  async replace(place: number, url: string): Promise<void> {
    this.#nodes[place] = { url, isReady: true };
    await pause(LOOK_MS);
  }

  /** Asks all the time while `work` goes on, and a while before and after. */
  async load(work: () => Promise<void>): Promise<LoadBook> {
    const book: LoadBook = { acknowledged: new Map(), failures: [] };
    const over = new AbortController();
    const one = async () => {
      while (!over.signal.aborted) await this.#askOne(this.#asked++, book);
    };
    const asking = Array.from({ length: CONNECTIONS }, one);
    const around = async () => {
      const enough = this.#asked + ROUNDS_AROUND;
      while (this.#asked < enough) await pause(LOOK_MS);
    };
    try {
      await around();
      await work();
      await around();
    } finally {
      over.abort();
      await Promise.all(asking);
    }
    return book;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#looking;
  }

  async #askOne(number: number, book: LoadBook): Promise<void> {
    const tenant = TENANTS[number % TENANTS.length]!;
    const ask: Ask =
      number % 3 === 2
        ? { method: 'GET', path: '/api/v1/audit-events?limit=5', tenant }
        : { tenant, body: event(`balanced-${number}`) };
    try {
      const reply = await this.#send(ask);
      if (reply.status >= 400) book.failures.push(`${reply.status} ${JSON.stringify(reply.body)}`);
      else if (ask.body !== undefined)
        for (const id of acknowledgedIn(reply)) book.acknowledged.set(id, tenant);
    } catch (error) {
      book.failures.push(String(error));
    }
  }

  async #send(ask: Ask): Promise<Reply> {
    const ready = this.#nodes.filter(({ isReady }) => isReady);
    const first = this.#turn++;
    for (let attempt = 0; ; attempt++) {
      const node = ready[(first + attempt) % ready.length]!;
      using client = new Client(node.url, 1);
      try {
        return await client.ask({ ...ask, headers: { Connection: 'close' } });
      } catch (error) {
        const { code } = error as { code?: string };
        if (code !== 'ECONNREFUSED' || attempt >= ready.length) throw error;
        node.isReady = false;
      }
    }
  }

  async #look(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await Promise.all(
        this.#nodes.map(async (node) => {
          const answer = await fetch(`${node.url}/health/ready`).catch(() => undefined);
          node.isReady = answer?.status === 200;
        }),
      );
      await pause(LOOK_MS);
    }
  }
}
