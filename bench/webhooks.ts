// W8: deliveries to 20 consumers on loopback, each an origin of its own that answers in 5 ms, of one tenant with a subscription to each:
// how many a second, how long after the receipt of an event at half of that, and the same while a tenth of the consumers hang. The
// consumers and the load run on the same machine, so the service has a part of it.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { type Backend, POSTGRES, SQLITE, startBenchPostgres } from './backends.ts';
import { cpuSecondsOf } from './cpu.ts';
import type { Benchmark, Row } from './measure.ts';
import type { ConsumersSeen } from './processes/consumers.ts';
import { ADMIN_KEY, type RunningService, startService } from './processes/processes.ts';
import { standardEvent } from './standard-event.ts';

const CONSUMERS = 20;
const ANSWER_MS = 5;
const BATCH = 500;
const BURST_EVENTS = 1500;
/** So many events a second are 1,000 deliveries. */
const HALF_LOAD = 50;
const HALF_LOAD_S = 15;
const TENANT = 'acme';
const SETTINGS = { Webhooks__AllowPrivateTargets: 'true', Encryption__Classifications: 'None' };

export const benchmark = webhooksOn(SQLITE);
export const onPostgres = webhooksOn(POSTGRES);

function webhooksOn(backend: Backend): Benchmark {
  return {
    name: `webhooks${backend.suffix}`,
    title: `W8 on ${backend.name}: ${CONSUMERS} consumers that answer in ${ANSWER_MS} ms`,
    run: () => measure(backend),
  };
}

async function measure({ name }: Backend): Promise<Row[]> {
  await using server = name === 'PostgreSQL' ? await startBenchPostgres() : undefined;
  const store = server === undefined ? {} : { Storage__Url: await server.createDatabase() };
  await using service = await startService(undefined, [], { ...store, ...SETTINGS });
  await using consumers = await Consumers.start();
  const ask = askerOf(service);
  for (const port of consumers.ports)
    await ask('/webhooks/subscriptions', {
      name: `consumer at ${port}`,
      url: `http://127.0.0.1:${port}/`,
      eventTypes: ['AuditEventReceived'],
    });
  await burst(ask, consumers, 200, CONSUMERS);
  const cpuFrom = cpuSecondsOf(service.pid) ?? Number.NaN;
  const full = await burst(ask, consumers, BURST_EVENTS, CONSUMERS);
  const cpu = (cpuSecondsOf(service.pid) ?? Number.NaN) - cpuFrom;
  const half = await steady(ask, consumers, CONSUMERS);
  const healthy = Math.round(CONSUMERS * 0.9);
  await consumers.tell(`hang ${healthy}`);
  const beside = await steady(ask, consumers, healthy);
  return [
    {
      name: 'deliveries, all queued at once',
      figure: `${((1000 * full.count) / full.spanMs).toFixed(0)} a second`,
      goal: '>= 1,500',
    },
    {
      name: 'processor time of the service, ingestion and index included',
      figure: `${((1e6 * cpu) / full.count).toFixed(0)} µs a delivery`,
    },
    lagRow(`${HALF_LOAD * CONSUMERS} a second: from receipt to the consumer`, half),
    {
      ...lagRow('the same while a tenth of the consumers hang: those that answer', beside),
      against: 'without',
      ratio: beside.p99 / half.p99,
      goal: '<= 1.20',
    },
  ];
}

function lagRow(name: string, { p50, p99 }: ConsumersSeen): Row {
  return { name, figure: `p50 ${p50} ms, p99 ${p99} ms`, goal: 'p99 < 1 s' };
}

type Ask = (path: string, body: object) => Promise<void>;

function askerOf({ port }: RunningService): Ask {
  return async (path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method: 'POST',
      headers: { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': TENANT, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  };
}

let sent = 0;

function send(ask: Ask, count: number): Promise<void> {
  const events = Array.from({ length: count }, () => standardEvent(sent++));
  return ask('/audit-events/batch', { events });
}

async function burst(ask: Ask, consumers: Consumers, events: number, answering: number) {
  await consumers.tell('next');
  for (let left = events; left > 0; left -= BATCH) await send(ask, Math.min(left, BATCH));
  return consumers.untilGot(events * answering);
}

async function steady(ask: Ask, consumers: Consumers, answering: number) {
  await consumers.tell('next');
  const portions = HALF_LOAD_S * 10;
  for (let portion = 0; portion < portions; portion++) {
    const next = new Promise((resolve) => setTimeout(resolve, 100));
    await send(ask, HALF_LOAD / 10);
    await next;
  }
  return consumers.untilGot(HALF_LOAD_S * HALF_LOAD * answering);
}

const GOT_MS_MAX = 180_000;

class Consumers implements AsyncDisposable {
  readonly ports: readonly number[];
  readonly #child;
  readonly #lines;

  private constructor(child: ReturnType<typeof spawnConsumers>, lines: AsyncIterator<string>, first: string) {
    this.#child = child;
    this.#lines = lines;
    this.ports = JSON.parse(first) as number[];
  }

  static async start(): Promise<Consumers> {
    const child = spawnConsumers();
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return new Consumers(child, lines, (await lines.next()).value as string);
  }

  async tell(line: string): Promise<ConsumersSeen> {
    this.#child.stdin.write(`${line}\n`);
    return JSON.parse((await this.#lines.next()).value as string) as ConsumersSeen;
  }

  async untilGot(count: number): Promise<ConsumersSeen> {
    for (const deadline = Date.now() + GOT_MS_MAX; ; ) {
      const seen = await this.tell('look');
      if (seen.count >= count) return seen;
      if (Date.now() > deadline) throw new Error(`the consumers got ${seen.count} of ${count} deliveries`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    await ended;
  }
}

function spawnConsumers() {
  const file = join(import.meta.dirname, 'processes/consumers.ts');
  const args = [
    '--conditions=source',
    '--no-warnings',
    file,
    JSON.stringify({ count: CONSUMERS, answerMs: ANSWER_MS }),
  ];
  return spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
}
