// Rounds of asking a service and killing it, and the book of what it has acknowledged.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { acknowledgedIn, type Ask, Client, event } from './client.ts';
import { type EventInLog, markersIn } from './read-log.ts';
import { type Service, type Start, startService } from './running.ts';

const CONNECTIONS = 32;
const TENANTS = ['acme', 'globex'];
const LARGE_BATCH = 200;
/** In each round. */
export const ACKNOWLEDGED_MIN = 20;
/** So that kills fall upon boundaries of streams too. */
const SHORT_STREAMS = { Streams__SealAfterEvents: '7' };

export interface Book {
  readonly acknowledged: Map<string, string>;
  readonly unanswered: Ask[];
  asked: number;
}

export function newBook(): Book {
  return { acknowledged: new Map(), unanswered: [], asked: 0 };
}

export function nextAsk(book: Book, round: number): Ask {
  const number = book.asked++;
  const marker = `${round}-${number}`;
  const tenant = TENANTS[number % 3 === 0 ? 1 : 0]!;
  if (number % 4 !== 0) return { tenant, key: marker, body: event(marker) };
  // Some so large that their commitments are made in a thread before the writer's, which smaller ones overtake.
  const length = number % 40 === 0 ? LARGE_BATCH : 5;
  const events = Array.from({ length }, (_, i) => event(`${marker}-${i}`));
  return { tenant, key: marker, path: '/api/v1/audit-events/batch', body: { events } };
}

/** Each connection asks until no answer comes any more. */
async function askUntilKilled(service: Service, book: Book, round: number): Promise<void> {
  using client = new Client(service.url, CONNECTIONS);
  const one = async () => {
    for (;;) {
      const ask = nextAsk(book, round);
      try {
        const reply = await client.ask(ask);
        assert.ok(reply.status === 201, `${reply.status} ${JSON.stringify(reply.body)}`);
        for (const id of acknowledgedIn(reply)) book.acknowledged.set(id, ask.tenant!);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        book.unanswered.push(ask);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
}

/** Repeats the unanswered requests; every answer acknowledges. */
export async function repeatUnanswered(service: Service, book: Book): Promise<void> {
  using client = new Client(service.url, CONNECTIONS);
  const asks = book.unanswered.splice(0);
  await Promise.all(
    asks.map(async (ask) => {
      const reply = await client.ask(ask);
      assert.ok([200, 201].includes(reply.status), `${reply.status} ${JSON.stringify(reply.body)}`);
      for (const id of acknowledgedIn(reply)) book.acknowledged.set(id, ask.tenant!);
    }),
  );
}

/** The acknowledged events that are not in the log of their tenant. */
export function lostOf(
  log: ReadonlyMap<string, readonly EventInLog[]>,
  book: Pick<Book, 'acknowledged'>,
): string[] {
  const found = new Set(
    [...log].flatMap(([tenant, events]) => events.map(({ eventId }) => `${tenant} ${eventId}`)),
  );
  return [...book.acknowledged].map(([id, tenant]) => `${tenant} ${id}`).filter((id) => !found.has(id));
}

/** All that was acknowledged is in the log, and nothing is in it twice. */
export function requireKept(log: ReadonlyMap<string, readonly EventInLog[]>, book: Book): void {
  assert.deepEqual(lostOf(log, book), []);
  const twice = [...markersIn(log)].filter(([, count]) => count !== 1);
  assert.deepEqual(twice, []);
}

/** `start` may name another script, or settings. */
export async function killRounds(start: Start, rounds: number): Promise<Book> {
  const book = newBook();
  for (let round = 0; round < rounds; round++) {
    await using service = await startService({ ...start, env: { ...SHORT_STREAMS, ...start.env } });
    await repeatUnanswered(service, book);
    const before = book.acknowledged.size;
    const asking = askUntilKilled(service, book, round);
    // Of a service that was killed before it acknowledged anything nothing can be lost, however slow the machine is.
    while (book.acknowledged.size <= before + ACKNOWLEDGED_MIN) await pause(1);
    await pause(Math.random() * 400);
    service.kill('SIGKILL');
    await Promise.all([asking, service.ended]);
  }
  return book;
}
