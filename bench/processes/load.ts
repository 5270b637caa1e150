// A load generator in a process of its own: keeps so many connections busy for so long, each with one request on
// the wire at a time, and prints one line of JSON with what it saw. Requests are made beforehand where that is possible.
// Settings arrive as JSON in the first argument.

import { percentile } from '../measure.ts';
import { standardEvent } from '../standard-event.ts';
import { CarefulRequest, ID_PLACE, KEY_PLACE } from './careful-requests.ts';
import { type Answer, Connection, headersOf, requestOf } from './connection.ts';

export interface Load {
  readonly port: number;
  readonly path: string;
  readonly connections: number;
  readonly durationMs: number;
  /** Events in a request: 1 is a single ingest, more is a batch. */
  readonly eventsPerRequest: number;
  /** Requests take turns over so many tenants: `<prefix>-0` and so on. */
  readonly tenants: number;
  readonly tenantPrefix: string;
  readonly apiKey: string;
  /** What careful clients send with each event (`ids`) and each request (`key`); one tenant only. */
  readonly care?: { readonly ids: boolean; readonly key: boolean };
}

export interface LoadSeen {
  readonly requestsPerSecond: number;
  readonly eventsPerSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly refused: Readonly<Record<string, number>>;
}

/** Different bodies, so that nothing gains from seeing the same one again; few, so that they stay in the cache. */
const BODIES = 64;
const WARM_UP_MS = 500;

function bodies({ eventsPerRequest, care }: Load): Buffer[] {
  return Array.from({ length: BODIES }, (_, body) => {
    const events = Array.from({ length: eventsPerRequest }, (_unused, i) => ({
      ...(care?.ids === true && { eventId: ID_PLACE }),
      ...standardEvent(body * eventsPerRequest + i),
    }));
    return Buffer.from(JSON.stringify(eventsPerRequest === 1 ? events[0] : { events }));
  });
}

async function run(load: Load): Promise<LoadSeen> {
  const prepared = bodies(load);
  const latencies: number[] = [];
  const refused: Record<string, number> = {};
  let next = 0;
  let isCounting = false;
  const key = load.care?.key === true ? `Idempotency-Key: ${KEY_PLACE}\r\n` : '';
  const request = (tenant: number, body: Buffer) =>
    requestOf('POST', load.path, headersOf(load.apiKey, `${load.tenantPrefix}-${tenant}`) + key, body);
  const made = load.tenants === 1 ? prepared.map((body) => request(0, body)) : [];
  const careful = load.care === undefined ? [] : made.map((bytes) => new CarefulRequest(bytes));
  const count = ({ status, latencyMs }: Answer) => {
    if (status === 201) latencies.push(latencyMs);
    else refused[status] = (refused[status] ?? 0) + 1;
  };
  const connections = Array.from({ length: load.connections }, () => new Connection(load.port));
  const keepBusy = (connection: Connection) => {
    const send = () => {
      const at = next++;
      const bytes =
        careful[at % BODIES]?.next() ??
        made[at % BODIES] ??
        request(at % load.tenants, prepared[at % BODIES]!);
      connection.send(bytes, take);
    };
    const take = (answer: Answer) => {
      if (isCounting) count(answer);
      send();
    };
    send();
  };
  for (const connection of connections) keepBusy(connection);
  await pause(WARM_UP_MS);
  isCounting = true;
  const startedAt = performance.now();
  await pause(load.durationMs);
  isCounting = false;
  const seconds = (performance.now() - startedAt) / 1000;
  for (const connection of connections) connection.close();
  return {
    requestsPerSecond: latencies.length / seconds,
    eventsPerSecond: (latencies.length * load.eventsPerRequest) / seconds,
    p50Ms: percentile(latencies, 0.5),
    p95Ms: percentile(latencies, 0.95),
    p99Ms: percentile(latencies, 0.99),
    refused,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2]!) as Load))}\n`);
process.exit(0);
