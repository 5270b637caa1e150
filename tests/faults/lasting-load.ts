// Clients that do not give up: each repeats its request, with its key, until any of the services acknowledges it.
// Refusals must be 503 and say when to come again; any other answer is a failure.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { acknowledgedIn, type Ask, Clients, type Reply } from './client.ts';
import { type Book, newBook, nextAsk } from './kill-rounds.ts';

const PATIENCE_MS = 120_000;
const PAUSE_MS = 50;

export interface LoadOptions {
  readonly connections?: number;
  /** Where services are at the moment. */
  readonly urls: () => readonly string[];
  /** The next to be asked; undefined: as in the tests of kills. */
  readonly next?: (book: Book) => Ask;
}

export class LastingLoad implements AsyncDisposable {
  readonly book = newBook();
  /** Answers of 503. */
  refusals = 0;
  /** Connections that broke before there was an answer. */
  breaks = 0;
  slowestMs = 0;
  #isOver = false;
  #isGone = false;
  #failure: unknown;
  readonly #clients = new Clients();
  readonly #options: LoadOptions;
  readonly #asking: Promise<void>;

  constructor(options: LoadOptions) {
    this.#options = options;
    const { connections = 32 } = options;
    const each = Array.from({ length: connections }, (_, i) => this.#askAndAsk(i));
    this.#asking = Promise.all(each).then(() => undefined);
    this.#asking.catch((error: unknown) => (this.#failure = error));
  }

  get acknowledged(): number {
    return this.book.acknowledged.size;
  }

  /** Until so many more are acknowledged than now. */
  async untilMore(count: number): Promise<void> {
    const wanted = this.acknowledged + count;
    await this.until(() => this.acknowledged >= wanted, `${count} more acknowledged`);
  }

  async until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await holds())) {
      if (this.#failure !== undefined) throw this.#failure as Error;
      assert.ok(performance.now() < deadline, `not in time: ${what}; ${this.figures()}`);
      await pause(10);
    }
  }

  /** Nothing new is asked; what is under way is, until it is acknowledged. */
  async finish(): Promise<Book> {
    this.#isOver = true;
    await this.#asking;
    return this.book;
  }

  figures(): string {
    return `${this.book.asked} asked, ${this.acknowledged} acknowledged, ${this.refusals} refusals, ${this.breaks} breaks, slowest ${Math.round(this.slowestMs)} ms`;
  }

  async #askAndAsk(number: number): Promise<void> {
    const { next = (book: Book) => nextAsk(book, 0) } = this.#options;
    while (!this.#isOver) {
      const ask = next(this.book);
      const reply = await this.#untilAcknowledged(ask, number);
      if (reply === undefined) return;
      for (const id of acknowledgedIn(reply)) this.book.acknowledged.set(id, ask.tenant!);
    }
  }

  /** Undefined when nobody wants to know any more. */
  async #untilAcknowledged(ask: Ask, number: number): Promise<Reply | undefined> {
    const deadline = performance.now() + PATIENCE_MS;
    for (let attempt = number; ; attempt++) {
      const reply = await this.#ask(ask, attempt);
      if (reply?.status === 200 || reply?.status === 201) return reply;
      if (this.#isGone) return undefined;
      assert.ok(performance.now() < deadline, `never acknowledged; ${this.figures()}`);
      await pause(PAUSE_MS * (0.5 + Math.random()));
    }
  }

  /** Undefined when no answer came. */
  async #ask(ask: Ask, attempt: number): Promise<Reply | undefined> {
    const urls = this.#options.urls();
    if (urls.length === 0) return undefined;
    const began = performance.now();
    const reply = await this.#clients
      .of(urls[attempt % urls.length]!)
      .ask(ask)
      .catch(() => undefined);
    this.slowestMs = Math.max(this.slowestMs, performance.now() - began);
    if (reply === undefined) this.breaks += 1;
    else if (reply.status === 503) {
      this.refusals += 1;
      requireRetryAfter(reply);
    } else assert.ok([200, 201].includes(reply.status), `${reply.status} ${JSON.stringify(reply.body)}`);
    return reply;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#isGone = true;
    this.#clients[Symbol.dispose]();
    await this.#asking.catch(() => {});
  }
}

export function requireRetryAfter({ headers, body }: Reply): void {
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
  assert.equal((body as { error: { code: string } }).error.code, 'SERVICE_UNAVAILABLE');
}
