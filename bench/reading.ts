// Reading at a million events, over HTTP, while more of them arrive: lists and single events (W4), searches
// with counts (W5), bytes on disk of log and views (W11). BENCH_EVENTS sets another number of events,
// BENCH_ASKED_MS for how long each question is asked at most, BENCH_BACKGROUND how many arrive each second meanwhile.

import { type Backend, POSTGRES, SQLITE } from './backends.ts';
import { IDLE_MS, isIdleWithin } from './cpu.ts';
import { type Benchmark, percentile, percentilesText, type Row } from './measure.ts';
import { type Asked, Caller } from './processes/caller.ts';
import { ADMIN_KEY, fill, startService, startSteadyLoad } from './processes/processes.ts';
import { KeySelects } from './key-selects.ts';
import { filesOf, type StoredBytes, tablesOf } from './stored-bytes.ts';
import { FIRST_TIMESTAMP_MS, readingEvent, SPACING_MS } from './reading-event.ts';

const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 1_000_000);
/** From so many on, all that is asked for first is there. */
const EVENTS_OF_EVERY_KIND = 20_000;
const ASKED_TIMES = 100;
/** Enough of one question, if it was asked a few times at least. */
const ASKED_MS_MAX = Number(process.env['BENCH_ASKED_MS'] ?? 20_000);
const ASKED_TIMES_MIN = 5;
/** So long may the index come after the log; then what is asked is asked anyway, and the table says so. */
const INDEXED_MS_MAX = 60_000 + EVENTS * 1.2;
const BACKGROUND = {
  eventsPerSecond: Number(process.env['BENCH_BACKGROUND'] ?? 1000),
  firstEvent: EVENTS,
  differentEvents: 10_000,
};
const PATH = '/api/v1/audit-events';
const DAY_MS = 86_400_000;

/** What is asked, another one each time. */
type Ask = (i: number) => Asked;

const list = (query: string) => ({ path: `${PATH}?${query}` });
const search = (body: object) => ({ path: `${PATH}/search`, body });
const FOUR = { aggregations: ['byAction', 'byActor', 'byResource', 'byClassification'] };

const PAGE = 100;
const NEWEST = 'list, newest';
const LISTS: Readonly<Record<string, Ask>> = {
  [NEWEST]: () => list(`limit=${PAGE}`),
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
  const day = (i * 13) % Math.max(1, Math.floor((EVENTS * SPACING_MS) / DAY_MS));
  return new Date(FIRST_TIMESTAMP_MS + day * DAY_MS).toISOString().slice(0, 10);
}

export const benchmark = readingOn(SQLITE);
export const onPostgres = readingOn(POSTGRES);

function readingOn(backend: Backend): Benchmark {
  return {
    name: `reading${backend.suffix}`,
    title: `W4, W5, W11 on ${backend.name}: reading ${EVENTS} events of a tenant while ${BACKGROUND.eventsPerSecond} a second arrive`,
    run: () => measureReading(backend),
  };
}

async function measureReading(backend: Backend): Promise<Row[]> {
  await using opened = await backend.open();
  await using service = await startService(undefined, [], opened.settings);
  const tenant = { port: service.port, apiKey: ADMIN_KEY, tenant: 'reading' };
  const { seconds, eventIds } = await fill({ ...tenant, events: EVENTS });
  using caller = new Caller(service, tenant.apiKey, tenant.tenant);
  const { postgres } = opened;
  const rows: Row[] = [
    { name: 'filled, acknowledged', figure: `${Math.round(EVENTS / seconds)}/s` },
    await indexed(caller, service.pid, seconds),
    ...sizes(postgres === undefined ? filesOf(service.dataDirectory) : await tablesOf(postgres.url)),
  ];
  await using selects = postgres && (await KeySelects.of(postgres.url, tenant.tenant));
  await using background = await startSteadyLoad({ ...tenant, ...BACKGROUND });
  const oneOf = (i: number) => eventIds[i % eventIds.length]!;
  rows.push(
    await measured(caller, 'W4 one event', 'p95 < 20 ms', (i) => ({ path: `${PATH}/${oneOf(i)}` }), {
      select: selects && ((i) => selects.event(oneOf(i))),
    }),
    await measured(caller, 'W4 stream, a page', 'p95 < 20 ms', await streamPage(caller), {
      select: selects && (() => selects.page(PAGE)),
    }),
  );
  for (const [name, ask] of Object.entries(LISTS)) {
    const select = name === NEWEST && selects ? () => selects.newest(PAGE) : undefined;
    rows.push(await measured(caller, `W4 ${name}`, 'p95 < 20 ms', ask, { select }));
  }
  for (const [name, ask] of Object.entries(SEARCHES))
    rows.push(await measured(caller, `W5 ${name}`, 'p95 < 200 ms', ask));
  const { eventsPerSecond, lagP95Ms, lagLongestMs, refused } = await background.end();
  if (Object.keys(refused).length > 0) throw new Error(`meanwhile: ${JSON.stringify(refused)}`);
  rows.push(
    { name: 'arrived meanwhile', figure: `${Math.round(eventsPerSecond)}/s` },
    { name: 'lag meanwhile', figure: `p95 ${lagP95Ms} longest ${lagLongestMs} ms` },
  );
  return rows;
}

/** All is found at once; but segments are made and merged for a while, which would be measured with what is asked. */
async function indexed(caller: Caller, pid: number, filledSeconds: number): Promise<Row> {
  const filledAt = performance.now();
  const isWhole = (await caller.isIndexedWithin(INDEXED_MS_MAX)) && (await isIdleWithin(pid, INDEXED_MS_MAX));
  const name = 'filled, and indexed';
  if (!isWhole) return { name, figure: `not within ${Math.round(INDEXED_MS_MAX / 1000)} s` };
  const seconds = filledSeconds + (performance.now() - filledAt - IDLE_MS) / 1000;
  return { name, figure: `${Math.round(EVENTS / seconds)}/s` };
}

/** The first of the first stream. */
async function streamPage(caller: Caller): Promise<Ask> {
  const { data } = await caller.get<{ data: { streamId: string }[] }>('/api/v1/event-streams?limit=1');
  const path = `/api/v1/event-streams/${data[0]!.streamId}/events`;
  return () => ({ path: `${path}?limit=${PAGE}` });
}

interface Ceiling {
  /** The same from the database, by the same key and driver. */
  readonly select?: ((i: number) => Promise<unknown>) | undefined;
}

async function measured(
  caller: Caller,
  name: string,
  goal: string,
  ask: Ask,
  { select }: Ceiling = {},
): Promise<Row> {
  const [tookMs, selectedMs]: [number[], number[]] = [[], []];
  const startedAt = performance.now();
  for (let i = 0; i < ASKED_TIMES; i++) {
    if (i >= ASKED_TIMES_MIN && performance.now() - startedAt > ASKED_MS_MAX) break;
    const { latencyMs, body } = await caller.ask(ask(i));
    tookMs.push(latencyMs);
    const found = foundIn(JSON.parse(String(body)) as Found);
    if (i === 0 && found === 0 && EVENTS >= EVENTS_OF_EVERY_KIND)
      throw new Error(`${name} finds nothing: ${JSON.stringify(ask(i))}`);
    if (select === undefined) continue;
    const selectedAt = performance.now();
    await select(i);
    selectedMs.push(performance.now() - selectedAt);
  }
  const row = { name, figure: percentilesText(tookMs, [0.5, 0.95, 0.99]), goal };
  if (select === undefined) return row;
  const medianMs = percentile(selectedMs, 0.5);
  const against = `the speed of a SELECT (p50 ${medianMs.toFixed(2)} ms)`;
  return { ...row, against, ratio: medianMs / percentile(tookMs, 0.5) };
}

interface Found {
  readonly data?: readonly unknown[];
  readonly results?: readonly unknown[];
}

/** How many a list or a search answers; one event is one. */
function foundIn({ data, results }: Found): number {
  return (data ?? results)?.length ?? 1;
}

function sizes({ log, views }: StoredBytes): Row[] {
  const body = Buffer.byteLength(JSON.stringify(readingEvent(0)));
  const against = `the body (${body} B)`;
  const row = (name: string, bytes: number, goal: string): Row => {
    const each = bytes / EVENTS;
    return { name, figure: `${Math.round(each)} B`, against, ratio: each / body, goal };
  };
  return [
    row('W11 log, bytes an event', log, '<= 1.5'),
    row('W11 log and views, bytes an event', log + views, '<= 2.5'),
  ];
}
