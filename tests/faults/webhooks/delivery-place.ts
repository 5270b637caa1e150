// A backend with its services, and a consumer that keeps what it gets while services come and go. In the end, everything that they owe it
// is delivered or among the dead letters, each under one id.

import assert from 'node:assert/strict';
import type {
  BackgroundOperation,
  DeadLetter,
  Delivery,
  List,
  Notification,
  Recovery,
  Subscription,
} from '@tallystick/contract';
import { Consumer } from '../../../packages/server/src/testing/consumer.ts';
import { until } from '../../../packages/server/src/testing/until.ts';
import type { Backend } from '../backends.ts';
import { acknowledgedIn, Client, event, type Reply } from '../client.ts';

/** An hour takes 3.6 s. */
export const WEBHOOK_ENV = { Webhooks__AllowPrivateTargets: 'true', Webhooks__TimeScale: '0.001' };
const SUBSCRIPTIONS = '/api/v1/webhooks/subscriptions';
/** The kind of entries that are events, not notices. */
const EVENT_KIND = 1;
/** The consumer answers 400 to events of this actor, which are then not retried. */
const REFUSED = 'refused';

type EventNotification = Extract<Notification, { webhookType: 'event.notification' }>;

export class DeliveryPlace implements AsyncDisposable {
  readonly backend: Backend;
  readonly consumer: Consumer;
  /** Acknowledged, by id. */
  readonly #markers = new Map<string, string>();
  #subscriptionId: string | undefined;
  readonly #beganAt = new Date(Date.now() - 60_000).toISOString();
  #sent = 0;

  private constructor(backend: Backend, consumer: Consumer) {
    this.backend = backend;
    this.consumer = consumer;
    consumer.reply = ({ body }) => (isRefused(body) ? 400 : 200);
  }

  static async open(open: () => Promise<Backend>): Promise<DeliveryPlace> {
    return new DeliveryPlace(await open(), await Consumer.start());
  }

  async subscribe(url: string): Promise<void> {
    const body = {
      name: 'Kept',
      url: this.consumer.url,
      eventTypes: ['AuditEventReceived'],
      retryClientErrors: false,
      retry: { strategy: 'Exponential', initialDelay: 'PT1S', maxDelay: 'PT1S' },
    };
    const { subscriptionId } = await this.#ask<{ subscriptionId: string }>(url, 'POST', SUBSCRIPTIONS, body);
    this.#subscriptionId = subscriptionId;
  }

  /** Sends three events, of which the consumer refuses one. False: they were not acknowledged, so they are not owed. */
  async send(url: string, marker: string): Promise<boolean> {
    using client = new Client(url);
    const markers = [0, 1, 2].map((i) => `${marker} ${this.#sent++} ${i}`);
    const events = markers.map((each, i) =>
      i === 2 ? { ...event(each), actor: { actorType: 'User', userId: REFUSED } } : event(each),
    );
    const sent = client.ask({ path: '/api/v1/audit-events/batch', body: { events } });
    const reply: Reply | undefined = await sent.catch(() => undefined);
    if (reply === undefined) return false;
    assert.equal(reply.status, 201, JSON.stringify(reply.body));
    for (const [i, id] of acknowledgedIn(reply).entries()) this.#markers.set(id, markers[i]!);
    return true;
  }

  /** Undefined: it was killed before it answered. */
  async recover(url: string): Promise<string | undefined> {
    const path = `${SUBSCRIPTIONS}/${this.#subscriptionId!}/recover`;
    const asked = this.#ask<Recovery>(url, 'POST', path, { since: this.#beganAt });
    return (await asked.catch(() => undefined))?.operationId;
  }

  /** Undefined: the subscription is deleted. */
  async standing(url: string): Promise<Subscription | undefined> {
    using client = new Client(url);
    const reply = await client.ask({ method: 'GET', path: `${SUBSCRIPTIONS}/${this.#subscriptionId!}` });
    assert.ok(reply.status === 200 || reply.status === 404, JSON.stringify(reply.body));
    return reply.status === 200 ? (reply.body as Subscription) : undefined;
  }

  /** False: the service was killed before it answered. */
  async change(url: string, act: 'pause' | 'resume' | 'delete'): Promise<boolean> {
    const path = `${SUBSCRIPTIONS}/${this.#subscriptionId!}`;
    using client = new Client(url);
    const asked =
      act === 'delete' ? client.ask({ method: 'DELETE', path }) : client.ask({ path: `${path}/${act}` });
    const reply = await asked.catch(() => undefined);
    if (reply !== undefined) assert.ok(reply.status < 300, `${act}: ${reply.status}`);
    return reply !== undefined;
  }

  async count(url: string, status: string): Promise<number> {
    return (await this.#deliveries(url, `status=${status}&limit=1`)).pagination.total;
  }

  async letterCount(url: string): Promise<number> {
    return (await this.#letters(url)).size;
  }

  async untilCompleted(url: string, operationId: string): Promise<void> {
    const path = `/api/v1/admin/operations/${operationId}`;
    await until(async () => (await this.#ask<BackgroundOperation>(url, 'GET', path)).status === 'Completed');
  }

  /** Waits until nothing is queued; then each event is delivered or a dead letter, and none has two ids. */
  async requireAll(url: string): Promise<string> {
    const list = (query: string) => this.#deliveries(url, query);
    const owed = await this.#owed();
    // In this order: a delivery that is queued in between is not done yet.
    const total = async (query: string) => (await list(`${query}limit=1`)).pagination.total;
    await until(
      async () => (await total('')) >= owed.length && (await total('status=Queued,RetryScheduled&')) === 0,
    );
    const letters = await this.#letters(url);
    const ids = new Map<string, Set<string>>();
    const delivered = new Set<string>();
    for (const { body } of this.consumer.got.filter(isOfEvent)) {
      const { eventId } = body.event;
      ids.set(eventId, (ids.get(eventId) ?? new Set()).add(body.webhookId));
      if (!isRefused(body)) delivered.add(eventId);
    }
    const kept = (id: string) =>
      delivered.has(id) || [...(ids.get(id) ?? [])].some((each) => letters.has(each));
    const lost = owed.filter((id) => !kept(id)).map((id) => this.#markers.get(id) ?? id);
    assert.deepEqual(lost, []);
    const several = [...ids].filter(([, { size }]) => size > 1).map(([id]) => this.#markers.get(id));
    assert.deepEqual(several, []);
    const again = this.consumer.got.length - ids.size;
    return `${owed.length} events: ${delivered.size} delivered, ${letters.size} dead letters, 0 lost; ${again} sent again`;
  }

  /** The events that are in the log, and those that should be. */
  async #owed(): Promise<string[]> {
    const log = (await this.backend.readLog()).get('acme') ?? [];
    const stored = log.filter(({ kind }) => kind === EVENT_KIND).map(({ eventId }) => eventId);
    return [...new Set([...this.#markers.keys(), ...stored])];
  }

  /** By the webhookId. */
  async #letters(url: string): Promise<Set<string>> {
    const letters = new Set<string>();
    for (let cursor = ''; ; ) {
      const path = `/api/v1/admin/dead-letter-queue?source=Webhook&limit=100${cursor}`;
      const { data, pagination } = await this.#ask<List<DeadLetter>>(url, 'GET', path);
      for (const { webhookId } of data) letters.add(webhookId!);
      if (!pagination.hasMore) return letters;
      cursor = `&cursor=${pagination.cursor!}`;
    }
  }

  #deliveries(url: string, query: string): Promise<List<Delivery>> {
    return this.#ask(url, 'GET', `${SUBSCRIPTIONS}/${this.#subscriptionId!}/deliveries?${query}`);
  }

  async #ask<T>(url: string, method: string, path: string, body?: object): Promise<T> {
    using client = new Client(url);
    const reply = await client.ask({ method, path, ...(body && { body }) });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.consumer[Symbol.asyncDispose]();
    await this.backend[Symbol.asyncDispose]();
  }
}

function isOfEvent<T extends { body: Notification }>(got: T): got is T & { body: EventNotification } {
  return got.body.webhookType === 'event.notification';
}

function isRefused(body: Notification): boolean {
  return body.webhookType === 'event.notification' && body.event.actor.userId === REFUSED;
}
