// Holds a rate of events for reading, in a process of its own, and looks now and then how far the index is behind.
// All requests are made beforehand; then it prints `sending`, goes through them again and again until its standard input
// ends – which it also does when its parent is gone – and prints one line of JSON with what it saw. Settings arrive as
// JSON in the first argument.

import { percentile } from '../measure.ts';
import { readingEvent } from '../reading-event.ts';
import { Caller } from './caller.ts';
import { Connection, headersOf, requestOf } from './connection.ts';

export interface SteadyLoad {
  readonly port: number;
  readonly apiKey: string;
  readonly tenant: string;
  readonly eventsPerSecond: number;
  /** Of the events that are sent, the first, and how many different ones there are. */
  readonly firstEvent: number;
  readonly differentEvents: number;
}

export interface SteadyLoadSeen {
  /** Acknowledged. */
  readonly eventsPerSecond: number;
  /** Of the second half, when the start is over. */
  readonly lagP95Ms: number;
  readonly lagLongestMs: number;
  readonly refused: Readonly<Record<string, number>>;
}

const BATCH = 100;
const CONNECTIONS = 4;
const LOOK_PAUSE_MS = 200;

function requests({ apiKey, tenant, firstEvent, differentEvents }: SteadyLoad): Buffer[] {
  const headers = headersOf(apiKey, tenant);
  return Array.from({ length: Math.ceil(differentEvents / BATCH) }, (_, request) => {
    const from = firstEvent + request * BATCH;
    const events = Array.from({ length: BATCH }, (_unused, i) => readingEvent(from + i));
    const body = Buffer.from(JSON.stringify({ events }));
    return requestOf('POST', '/api/v1/audit-events/batch', headers, body);
  });
}

async function run(load: SteadyLoad): Promise<SteadyLoadSeen> {
  const prepared = requests(load);
  const refused: Record<string, number> = {};
  const looks: { readonly atMs: number; readonly lagMs: number }[] = [];
  let next = 0;
  let acknowledged = 0;
  let endedAtMs: number | undefined;
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  process.stdin.resume().once('end', () => (endedAtMs = elapsedMs()));
  process.stdout.write('sending\n');

  const send = async () => {
    const connection = new Connection(load.port);
    for (;;) {
      const request = next++;
      const waitMs = (request * BATCH * 1000) / load.eventsPerSecond - elapsedMs();
      if (waitMs > 0) await pause(waitMs);
      if (endedAtMs !== undefined) break;
      const { status } = await connection.ask(prepared[request % prepared.length]!);
      // What is acknowledged after the end does not count: its time does not count either.
      if (endedAtMs !== undefined) break;
      if (status === 201) acknowledged += BATCH;
      else refused[status] = (refused[status] ?? 0) + 1;
    }
    connection.close();
  };
  const look = async () => {
    using caller = new Caller(load, load.apiKey, load.tenant);
    for (;;) {
      await pause(LOOK_PAUSE_MS);
      if (endedAtMs !== undefined) break;
      // Before anything is acknowledged there may be no such tenant.
      if (acknowledged === 0) continue;
      const lagMs = await caller.lagMs();
      looks.push({ atMs: elapsedMs(), lagMs });
    }
  };
  await Promise.all([look(), ...Array.from({ length: CONNECTIONS }, send)]);

  const tookMs = endedAtMs!;
  const later = looks.filter(({ atMs }) => atMs > tookMs / 2).map(({ lagMs }) => lagMs);
  if (later.length === 0) throw new Error(`no look at the lag in the second half of ${tookMs} ms`);
  return {
    eventsPerSecond: (acknowledged * 1000) / tookMs,
    lagP95Ms: percentile(later, 0.95),
    lagLongestMs: Math.max(...looks.map(({ lagMs }) => lagMs)),
    refused,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2]!) as SteadyLoad))}\n`);
