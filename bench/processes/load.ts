// A load generator in a process of its own: keeps so many connections busy for so long, each with one request on
// the wire at a time, and prints one line of JSON with what it saw. It speaks just enough HTTP/1.1 to cost less
// than what it measures: requests are made beforehand where that is possible, answers are read by status line and Content-Length.
// Settings arrive as JSON in the first argument.

import { connect, type Socket } from 'node:net';
import { standardEvent } from '../standard-event.ts';

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

function bodies({ eventsPerRequest }: Load): Buffer[] {
  return Array.from({ length: BODIES }, (_, body) => {
    const events = Array.from({ length: eventsPerRequest }, (_unused, i) =>
      standardEvent(body * eventsPerRequest + i),
    );
    return Buffer.from(JSON.stringify(eventsPerRequest === 1 ? events[0] : { events }));
  });
}

/** A request as it goes over the wire, in one piece. */
function requestOf({ path, apiKey }: Load, tenant: string, body: Buffer): Buffer {
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${apiKey}\r\nX-Tenant-Id: ${tenant}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const request = Buffer.allocUnsafe(head.length + body.length);
  request.write(head, 0, 'latin1');
  body.copy(request, head.length);
  return request;
}

class Connection {
  readonly #socket: Socket;
  readonly #onAnswer: (status: string, latencyMs: number) => void;
  /** What has come of an answer that is not whole yet. */
  #part: Buffer | undefined;
  #sentAt = 0;

  constructor(port: number, onAnswer: (status: string, latencyMs: number) => void) {
    this.#onAnswer = onAnswer;
    // One room for all that is read: no buffer is made for an answer that comes in one piece.
    const room = Buffer.allocUnsafe(READ_BYTES);
    const callback = (bytes: number) => {
      this.#take(room.subarray(0, bytes));
      return true;
    };
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: room, callback } });
    this.#socket.on('error', (error) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    });
  }

  send(request: Buffer): void {
    this.#sentAt = performance.now();
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    const received = this.#part === undefined ? chunk : Buffer.concat([this.#part, chunk]);
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd === -1 || received.length < headEnd + 4 + bodyLength(received, headEnd)) {
      this.#part = this.#part === undefined ? Buffer.from(chunk) : received;
      return;
    }
    this.#part = undefined;
    this.#onAnswer(received.toString('latin1', 9, 12), performance.now() - this.#sentAt);
  }
}

const READ_BYTES = 64 * 1024;
/** The end of the one header that is looked for: servers do not agree on its capitals. */
const LENGTH_HEADER = 'ength: ';

function bodyLength(received: Buffer, headEnd: number): number {
  const at = received.indexOf(LENGTH_HEADER);
  if (at === -1 || at > headEnd) return 0;
  const from = at + LENGTH_HEADER.length;
  return Number.parseInt(received.toString('latin1', from, from + 10), 10);
}

async function run(load: Load): Promise<LoadSeen> {
  const prepared = bodies(load);
  const latencies: number[] = [];
  const refused: Record<string, number> = {};
  let next = 0;
  let isCounting = false;
  const made =
    load.tenants === 1 ? prepared.map((body) => requestOf(load, `${load.tenantPrefix}-0`, body)) : [];
  const send = (connection: Connection) => {
    const tenant = next % load.tenants;
    const request =
      made[next % BODIES] ?? requestOf(load, `${load.tenantPrefix}-${tenant}`, prepared[next % BODIES]!);
    next += 1;
    connection.send(request);
  };
  const connections = Array.from({ length: load.connections }, () => {
    const connection: Connection = new Connection(load.port, (status, latencyMs) => {
      if (isCounting) {
        if (status === '201') latencies.push(latencyMs);
        else refused[status] = (refused[status] ?? 0) + 1;
      }
      send(connection);
    });
    return connection;
  });
  for (const connection of connections) send(connection);
  await pause(WARM_UP_MS);
  isCounting = true;
  const startedAt = performance.now();
  await pause(load.durationMs);
  isCounting = false;
  const seconds = (performance.now() - startedAt) / 1000;
  for (const connection of connections) connection.close();

  latencies.sort((a, b) => a - b);
  const percentile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return {
    requestsPerSecond: latencies.length / seconds,
    eventsPerSecond: (latencies.length * load.eventsPerRequest) / seconds,
    p50Ms: percentile(0.5),
    p95Ms: percentile(0.95),
    p99Ms: percentile(0.99),
    refused,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2]!) as Load))}\n`);
process.exit(0);
