// Notifications between nodes, by NOTIFY after the commit and over a separate connection: inside a transaction it would
// serialize all commits. Repeated notifications within a short time are merged. Without a connection nothing is sent or
// received, and every loop finds its work by polling.

import { Client, type Notification } from 'pg';
import type { News } from '../../../nodes/nodes.ts';
import { type Clock, type Timer, wait } from '../../../runtime/clock.ts';

export interface NotificationOptions {
  readonly url: string;
  /** The sending process, which ignores its own notifications. */
  readonly instance: string;
  readonly clock: Clock;
}

const CHANNEL = 'tallystick';
const GATHER_MS = 50;
const AGAIN_MS = 1000;
const ANSWER_MS_MAX = 5000;
const FAREWELL_MS = 1000;

export class Notifications implements AsyncDisposable {
  readonly #options: NotificationOptions;
  readonly #listeners: ((news: News) => void)[] = [];
  readonly #pending = new Set<News>();
  readonly #stop = new AbortController();
  #client: Client | undefined;
  #timer: Timer | undefined;
  #listening: Promise<void> | undefined;

  constructor(options: NotificationOptions) {
    this.#options = options;
  }

  /** Starts to listen, and reconnects whenever the connection is lost. */
  start(): void {
    this.#listening ??= this.#listen();
  }

  onTold(listener: (news: News) => void): void {
    this.#listeners.push(listener);
  }

  tell(news: News): void {
    this.#pending.add(news);
    this.#timer ??= this.#options.clock.after(GATHER_MS, () => void this.#send());
  }

  async tellAtOnce(news: News): Promise<void> {
    this.#pending.add(news);
    await this.#send();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    // A database that hangs does not answer: do not wait for it.
    const ended = Promise.all([this.#client?.end().catch(() => {}), this.#listening]);
    await Promise.race([ended, wait(this.#options.clock, FAREWELL_MS)]);
  }

  async #send(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const text = [this.#options.instance, ...this.#pending].join(' ');
    this.#pending.clear();
    const client = this.#client;
    try {
      await client?.query('SELECT pg_notify($1, $2)', [CHANNEL, text]);
    } catch {
      // The other nodes find the change by polling a little later; the connection is replaced.
      await client?.end().catch(() => {});
    }
  }

  async #listen(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#listenOnce().catch(() => {});
      this.#client = undefined;
      await wait(this.#options.clock, AGAIN_MS, signal);
    }
  }

  /** Runs until the connection is lost. */
  async #listenOnce(): Promise<void> {
    const client = new Client({
      connectionString: this.#options.url,
      application_name: 'tallystick news',
      connectionTimeoutMillis: ANSWER_MS_MAX,
      query_timeout: ANSWER_MS_MAX,
      keepAlive: true,
    });
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    client.on('error', () => resolve());
    client.on('end', () => resolve());
    client.on('notification', (notification) => this.#hear(notification));
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      if (this.#stop.signal.aborted) return;
      this.#client = client;
      await gone;
    } finally {
      await client.end().catch(() => {});
    }
  }

  #hear({ payload = '' }: Notification): void {
    const [instance, ...all] = payload.split(' ');
    if (instance === this.#options.instance) return;
    for (const news of all) for (const listener of this.#listeners) listener(news as News);
  }
}
