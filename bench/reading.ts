// Reading at a million events, over HTTP, while a thousand more arrive each second: lists and single events (W4), searches
// with counts (W5), bytes on disk of log and views (W11). BENCH_EVENTS sets another number of events.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Benchmark, percentilesText, type Row } from './measure.ts';
import { type Asked, Caller } from './processes/caller.ts';
import {
  ADMIN_KEY,
  fill,
  type RunningService,
  startService,
  startSteadyLoad,
} from './processes/processes.ts';
import { readingEvent } from './reading-event.ts';

const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 1_000_000);
/** From so many on, all that is asked for first is there. */
const EVENTS_OF_EVERY_KIND = 20_000;
const ASKED_TIMES = 100;
const BACKGROUND = { eventsPerSecond: 1000, firstEvent: EVENTS, differentEvents: 10_000 };
const PATH = '/api/v1/audit-events';

/** What is asked, another one each time. */
type Ask = (i: number) => Asked;

const list = (query: string) => ({ path: `${PATH}?${query}` });
const search = (body: object) => ({ path: `${PATH}/search`, body });
const FOUR = { aggregations: ['byAction', 'byActor', 'byResource', 'byClassification'] };

const LISTS: Readonly<Record<string, Ask>> = {
  'list, newest': () => list('limit=100'),
  'list by actor': (i) => list(`limit=100&actorId=u-${(i * 37) % 5000}`),
  'list by action and outcome': (i) => list(`action=${i % 2 ? 'Delete' : 'Approve'}.*&outcome=Denied`),
  'list by resource': (i) => list(`resourceId=R-${(i * 7919) % EVENTS}`),
  'list of a day': (i) =>
    list(`startTime=${dayOf(i)}T00:00:00Z&endTime=${dayOf(i)}T23:59:59Z&sort=timestamp`),
};
const SEARCHES: Readonly<Record<string, Ask>> = {
  'one rare word': (i) => search({ query: `word${(i * 131) % 20_000}` }),
  'one common word': () => search({ query: 'refund' }),
  'two words and a filter': (i) =>
    search({ query: 'refund late', filters: { actorIds: [`u-${(i * 37) % 5000}`] } }),
  // Words that follow each other in the notes of some events.
  'a phrase': () => search({ query: '"customer refund"' }),
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
    const tenant = { port: service.port, apiKey: ADMIN_KEY, tenant: 'reading' };
    const { seconds, eventIds } = await fill({ ...tenant, events: EVENTS });
    using caller = new Caller(service, tenant.apiKey, tenant.tenant);
    const filledAt = performance.now();
    await caller.untilIndexed();
    const indexedSeconds = seconds + (performance.now() - filledAt) / 1000;
    const rows: Row[] = [
      { name: 'filled, acknowledged', figure: `${Math.round(EVENTS / seconds)}/s` },
      { name: 'filled, and indexed', figure: `${Math.round(EVENTS / indexedSeconds)}/s` },
      ...sizes(service),
    ];
    await using background = await startSteadyLoad({ ...tenant, ...BACKGROUND });
    const one: Ask = (i) => ({ path: `${PATH}/${eventIds[i % eventIds.length]}` });
    rows.push(await measured(caller, 'W4 one event', 'p95 < 20 ms', one));
    for (const [name, ask] of Object.entries(LISTS))
      rows.push(await measured(caller, `W4 ${name}`, 'p95 < 20 ms', ask));
    for (const [name, ask] of Object.entries(SEARCHES))
      rows.push(await measured(caller, `W5 ${name}`, 'p95 < 200 ms', ask));
    const { eventsPerSecond, lagP95Ms, lagLongestMs, refused } = await background.end();
    if (Object.keys(refused).length > 0) throw new Error(`meanwhile: ${JSON.stringify(refused)}`);
    rows.push(
      { name: 'arrived meanwhile', figure: `${Math.round(eventsPerSecond)}/s` },
      { name: 'lag meanwhile', figure: `p95 ${lagP95Ms} longest ${lagLongestMs} ms` },
    );
    return rows;
  },
};

async function measured(caller: Caller, name: string, goal: string, ask: Ask): Promise<Row> {
  const tookMs: number[] = [];
  for (let i = 0; i < ASKED_TIMES; i++) {
    const { latencyMs, body } = await caller.ask(ask(i));
    tookMs.push(latencyMs);
    const found = foundIn(JSON.parse(String(body)) as Found);
    if (i === 0 && found === 0 && EVENTS >= EVENTS_OF_EVERY_KIND)
      throw new Error(`${name} finds nothing: ${JSON.stringify(ask(i))}`);
  }
  return { name, figure: percentilesText(tookMs, [0.5, 0.95, 0.99]), goal };
}

interface Found {
  readonly data?: readonly unknown[];
  readonly results?: readonly unknown[];
}

/** How many a list or a search answers; one event is one. */
function foundIn({ data, results }: Found): number {
  return (data ?? results)?.length ?? 1;
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
