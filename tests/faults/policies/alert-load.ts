// Clients that send events and change Alert policies, and do not give up: each asks again until one of the services answers, or,
// of some changes, looks what became of them. And the book of what they were told.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { acknowledgedIn, type Ask, Clients, event, type Reply } from '../client.ts';
import { PolicyChanger, type ToldVersion } from './policy-changer.ts';

export const TENANTS = ['acme', 'globex'];
const CHANGERS = 3;
const SENDERS = 6;
const USERS = 4;
const PAUSE_MS = 50;
/** Of a sender and of a changer, at most: so that the follower keeps up with some of it. */
const SEND_PAUSE_MS = 20;
const CHANGE_PAUSE_MS = 150;
const LARGE_BATCH = 200;
/** Acknowledged while no policy changes any more. */
const LAST_EVENTS = 60;

export interface SentEvent {
  readonly tenant: string;
  readonly eventId: string;
  readonly action: string;
  /** Of the first attempt. */
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
}

export class AlertLoad implements AsyncDisposable {
  readonly events: SentEvent[] = [];
  /** Requests that no answer came to. */
  breaks = 0;
  readonly #urls: () => readonly string[];
  readonly #changers: readonly PolicyChanger[];
  readonly #clients = new Clients();
  readonly #changing: Promise<unknown>;
  readonly #work: Promise<unknown>;
  #failure: unknown;
  #asked = 0;
  #isSettled = false;
  #isOver = false;
  #isGone = false;

  /** `urls` are those of the services that run at the moment. */
  constructor(urls: () => readonly string[]) {
    this.#urls = urls;
    this.#changers = TENANTS.flatMap((tenant) =>
      Array.from({ length: CHANGERS }, (_, slot) => new PolicyChanger(tenant, slot, (ask) => this.#ask(ask))),
    );
    const isSettled = () => this.#isSettled;
    const changing = this.#changers.map((changer) =>
      repeat(isSettled, CHANGE_PAUSE_MS, () => changer.change(() => this.#isGone)),
    );
    const isOver = () => this.#isOver;
    const sending = Array.from({ length: SENDERS }, () => repeat(isOver, SEND_PAUSE_MS, () => this.#send()));
    this.#changing = Promise.all(changing);
    this.#work = Promise.all([this.#changing, ...sending]);
    this.#work.catch((error: unknown) => (this.#failure = error));
  }

  get versions(): ToldVersion[] {
    return this.#changers.flatMap(({ versions }) => versions);
  }

  get givenUp(): number {
    return this.#changers.reduce((sum, { givenUp }) => sum + givenUp, 0);
  }

  /** Until so many more events and changes are acknowledged than now. */
  async untilMore(events: number, changes: number): Promise<void> {
    const wanted = [this.events.length + events, this.versions.length + changes] as const;
    while (this.events.length < wanted[0] || this.versions.length < wanted[1]) {
      if (this.#failure !== undefined) throw this.#failure as Error;
      await pause(5);
    }
  }

  /**
   * First no policy is changed any more, so that some events are sent and answered under one version, however slow the machine is.
   * Then nothing new is asked; what is under way is, until it is answered.
   */
  async finish(): Promise<void> {
    this.#isSettled = true;
    await this.#changing;
    await this.untilMore(LAST_EVENTS, 0);
    this.#isOver = true;
    await this.#work;
  }

  figures(): string {
    return `${this.events.length} events and ${this.versions.length} changes acknowledged, ${this.breaks} unanswered, ${this.givenUp} given up`;
  }

  async #send(): Promise<void> {
    const number = this.#asked++;
    const tenant = TENANTS[number % 3 === 0 ? 1 : 0]!;
    const length = number % 60 === 59 ? LARGE_BATCH : number % 5 === 4 ? 8 : 1;
    const events = Array.from({ length }, (_, i) => eventOf(`${number}-${i}`));
    const ask: Ask =
      length === 1
        ? { tenant, key: `${number}`, body: events[0] }
        : { tenant, key: `${number}`, path: '/api/v1/audit-events/batch', body: { events } };
    const sentAtMs = performance.now();
    while (!this.#isGone) {
      const reply = await this.#ask(ask);
      if (reply === undefined) continue;
      assert.ok([200, 201].includes(reply.status), `${reply.status} ${JSON.stringify(reply.body)}`);
      const answeredAtMs = performance.now();
      for (const [i, eventId] of acknowledgedIn(reply).entries())
        this.events.push({ tenant, eventId, action: events[i]!.action, sentAtMs, answeredAtMs });
      return;
    }
  }

  /** Undefined when no answer came, or one that asks to come again. */
  async #ask(ask: Ask): Promise<Reply | undefined> {
    const url = await this.#anyUrl();
    if (url === undefined) return undefined;
    const reply = await this.#clients
      .of(url)
      .ask(ask)
      .catch(() => undefined);
    if (reply !== undefined && reply.status !== 503) return reply;
    this.breaks += 1;
    await pause(PAUSE_MS * (0.5 + Math.random()));
    return undefined;
  }

  /** Waits for a service; undefined when nobody wants to know any more. */
  async #anyUrl(): Promise<string | undefined> {
    for (; !this.#isGone; await pause(PAUSE_MS)) {
      const urls = this.#urls();
      if (urls.length > 0) return urls[Math.floor(Math.random() * urls.length)];
    }
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isSettled = true;
    this.#isOver = true;
    this.#isGone = true;
    this.#clients[Symbol.dispose]();
    await this.#work.catch(() => {});
  }
}

async function repeat(isOver: () => boolean, pauseMsMax: number, act: () => Promise<void>): Promise<void> {
  while (!isOver()) {
    await act();
    await pause(Math.random() * pauseMsMax);
  }
}

function eventOf(marker: string) {
  const chance = Math.random();
  const action = chance < 0.3 ? 'Watch.Plain' : chance < 0.8 ? 'Watch.Counted' : 'Read.Other';
  const userId = `user-${Math.floor(Math.random() * USERS)}`;
  return { ...event(marker), action, actor: { actorType: 'User', userId } };
}
