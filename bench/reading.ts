// Reading at a million events, over HTTP, while a thousand more arrive each second: lists and single events (W4), searches
// with counts (W5), bytes on disk of log and views (W11). BENCH_EVENTS sets another number of events.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Benchmark, Row } from './measure.ts';
import { ADMIN_KEY, type RunningService, startService } from './processes/processes.ts';
import { readingEvent } from './reading-event.ts';

const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 1_000_000);
const BATCH = 500;
const SENDERS = 4;
const ASKED_TIMES = 100;
const BACKGROUND_BATCH = 100;
const BACKGROUND_PAUSE_MS = 100;

/** What is asked, another one each time. */
type Ask = (i: number) => { readonly path: string; readonly body?: object };

const search = (body: object) => ({ path: '/search', body });
const FOUR = { aggregations: ['byAction', 'byActor', 'byResource', 'byClassification'] };

const LISTS: Readonly<Record<string, Ask>> = {
  'list, newest': () => ({ path: '?limit=100' }),
  'list by actor': (i) => ({ path: `?limit=100&actorId=u-${(i * 37) % 5000}` }),
  'list by action and outcome': (i) => ({ path: `?action=${i % 2 ? 'Delete' : 'Approve'}.*&outcome=Denied` }),
  'list by resource': (i) => ({ path: `?resourceId=R-${(i * 7919) % EVENTS}` }),
  'list of a day': (i) => ({
    path: `?startTime=${dayOf(i)}T00:00:00Z&endTime=${dayOf(i)}T23:59:59Z&sort=timestamp`,
  }),
};
const SEARCHES: Readonly<Record<string, Ask>> = {
  'one rare word': (i) => search({ query: `word${(i * 131) % 20_000}` }),
  'one common word': () => search({ query: 'refund' }),
  'two words and a filter': (i) =>
    search({ query: 'refund late', filters: { actorIds: [`u-${(i * 37) % 5000}`] } }),
  'a phrase': () => search({ query: '"customer asked"' }),
  'a prefix': (i) => search({ query: `word${(i * 17) % 200}*` }),
  'a field of the payload': (i) => search({ query: `payload.amount:>${9990 + (i % 9)} action:Delete.*` }),
  'four aggregations of everything': () => search(FOUR),
  'four aggregations of an actor': (i) =>
    search({ ...FOUR, filters: { actorIds: [`u-${(i * 37) % 5000}`] } }),
  'four aggregations of a common word': () => search({ ...FOUR, query: 'approved' }),
};

function dayOf(i: number): string {
  const day = (i * 13) % Math.max(1, Math.floor((EVENTS * 20_000) / 86_400_000));
  return new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);
}

export const benchmark: Benchmark = {
  name: 'reading',
  title: `W4, W5, W11: reading ${EVENTS} events of a tenant while 1,000 a second arrive`,
  async run() {
    await using service = await startService();
    const caller = new Caller(service);
    const filled = await caller.fill();
    const rows: Row[] = [
      { name: 'filled, acknowledged', figure: `${Math.round(EVENTS / filled.sentSeconds)}/s` },
      { name: 'filled, and indexed', figure: `${Math.round(EVENTS / filled.indexedSeconds)}/s` },
      ...sizes(service),
    ];
    const background = new Background(caller);
    rows.push(await measured('W4 one event', '< 20 ms', (i) => caller.get(`/${caller.eventIds[i % 1000]}`)));
    for (const [name, ask] of Object.entries(LISTS))
      rows.push(await measured(`W4 ${name}`, '< 20 ms', (i) => caller.ask(ask(i))));
    for (const [name, ask] of Object.entries(SEARCHES))
      rows.push(await measured(`W5 ${name}`, '< 200 ms', (i) => caller.ask(ask(i))));
    rows.push({ name: 'lag meanwhile, longest', figure: `${await background.end()} ms` });
    return rows;
  },
};

async function measured(name: string, goal: string, ask: (i: number) => Promise<unknown>): Promise<Row> {
  const times: number[] = [];
  for (let i = 0; i < ASKED_TIMES; i++) {
    const began = performance.now();
    await ask(i);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))]!.toFixed(1);
  return { name, figure: `p50 ${at(0.5)} p95 ${at(0.95)} p99 ${at(0.99)} ms`, goal };
}

function sizes({ dataDirectory }: RunningService): Row[] {
  const bytesOf = (name: string) =>
    readdirSync(dataDirectory)
      .filter((file) => file.startsWith(name))
      .reduce((sum, file) => sum + statSync(join(dataDirectory, file)).size, 0) / EVENTS;
  const body = Buffer.byteLength(JSON.stringify(readingEvent(0)));
  const [log, views] = [bytesOf('journal.db'), bytesOf('views.db')];
  const against = `the body (${body} B)`;
  return [
    {
      name: 'W11 log, bytes an event',
      figure: `${Math.round(log)} B`,
      against,
      ratio: log / body,
      goal: '<= 1.5',
    },
    {
      name: 'W11 log and views, bytes an event',
      figure: `${Math.round(log + views)} B`,
      against,
      ratio: (log + views) / body,
      goal: '<= 2.5',
    },
  ];
}

/** One tenant's client. */
class Caller {
  readonly eventIds: string[] = [];
  readonly #url: string;
  readonly #headers = {
    'X-API-Key': ADMIN_KEY,
    'X-Tenant-Id': 'reading',
    'Content-Type': 'application/json',
  };
  #next = 0;

  constructor({ port }: RunningService) {
    this.#url = `http://127.0.0.1:${port}/api/v1/audit-events`;
  }

  async get(path: string): Promise<Response> {
    const response = await fetch(this.#url + path, { headers: this.#headers });
    return this.#sound(response, path);
  }

  async ask({ path, body }: ReturnType<Ask>): Promise<unknown> {
    if (body === undefined) return (await this.get(path)).json();
    const way = { method: 'POST', headers: this.#headers, body: JSON.stringify(body) };
    return (await this.#sound(await fetch(this.#url + path, way), path)).json();
  }

  /** Sends the next so many; remembers some of their ids. */
  async send(count: number): Promise<void> {
    const events = Array.from({ length: count }, () => readingEvent(this.#next++));
    const answer = (await this.ask({ path: '/batch', body: { events } })) as {
      results: { eventId: string }[];
    };
    if (this.eventIds.length < 1000) this.eventIds.push(answer.results[0]!.eventId);
  }

  async fill(): Promise<{ sentSeconds: number; indexedSeconds: number }> {
    const began = performance.now();
    const seconds = () => (performance.now() - began) / 1000;
    const sender = async () => {
      while (this.#next < EVENTS) await this.send(BATCH);
    };
    await Promise.all(Array.from({ length: SENDERS }, sender));
    const sentSeconds = seconds();
    while ((await this.lagMs()) > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    return { sentSeconds, indexedSeconds: seconds() };
  }

  async lagMs(): Promise<number> {
    return Number((await this.get('?limit=1')).headers.get('x-projection-lag-ms'));
  }

  async #sound(response: Response, path: string): Promise<Response> {
    if (response.ok) return response;
    throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
  }
}

/** A thousand events a second, until it is ended. */
class Background {
  readonly #ended: Promise<void>;
  #isEnding = false;
  #longestLagMs = 0;

  constructor(caller: Caller) {
    this.#ended = this.#run(caller);
  }

  /** The longest lag that was seen. */
  async end(): Promise<number> {
    this.#isEnding = true;
    await this.#ended;
    return this.#longestLagMs;
  }

  async #run(caller: Caller): Promise<void> {
    while (!this.#isEnding) {
      const began = performance.now();
      await caller.send(BACKGROUND_BATCH);
      this.#longestLagMs = Math.max(this.#longestLagMs, await caller.lagMs());
      const left = BACKGROUND_PAUSE_MS - (performance.now() - began);
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
    }
  }
}
