// W8: deliveries to 20 consumers on loopback, each an origin of its own that answers in 5 ms, of one tenant with a subscription to each:
// how many a second, how long after the receipt of an event at half of that, and the same while a tenth of the consumers hang. Then
// ingestion for a tenant with a hundred subscriptions, of which one matches, against one with none. The consumers and the load run on
// the same machine, so the service has a part of it.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { type Backend, POSTGRES, SQLITE, startBenchPostgres } from './backends.ts';
import { cpuSeconds, cpuSecondsOf, isIdleWithin } from './cpu.ts';
import type { Benchmark, Row } from './measure.ts';
import type { ConsumersSeen } from './processes/consumers.ts';
import { ADMIN_KEY, applyLoad, type RunningService, startService } from './processes/processes.ts';
import { standardEvent } from './standard-event.ts';
import { figureRow, inTurns, ratioRow } from './turns.ts';

const CONSUMERS = 20;
const ANSWER_MS = 5;
const BATCH = 500;
const BURST_EVENTS = 1500;
/** So many events a second are 1,000 deliveries. */
const HALF_LOAD = 50;
const HALF_LOAD_S = 15;
const TENANT = 'acme';
const SUBSCRIPTIONS = 100;
/** Before a turn of ingestion, until what the turn before has left is queued. */
const REST_MS_MAX = 30_000;
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
  for (const port of consumers.ports) await ask('/webhooks/subscriptions', subscriptionAt(port));
  await burst(ask, consumers, 200, CONSUMERS);
  const seconds = () => ({
    service: cpuSecondsOf(service.pid) ?? Number.NaN,
    database: server && (cpuSeconds([], server)?.database ?? Number.NaN),
  });
  const from = seconds();
  const full = await burst(ask, consumers, BURST_EVENTS, CONSUMERS);
  const to = seconds();
  const cpuFigure = (cpu: number) => `${((1e6 * cpu) / full.count).toFixed(0)} µs a delivery`;
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
      figure: cpuFigure(to.service - from.service),
    },
    ...(from.database === undefined || to.database === undefined
      ? []
      : [{ name: 'of the database', figure: cpuFigure(to.database - from.database) }]),
    lagRow(`${HALF_LOAD * CONSUMERS} a second: from receipt to the consumer`, half),
    {
      ...lagRow('the same while a tenth of the consumers hang: those that answer', beside),
      against: 'without',
      ratio: beside.p99 / half.p99,
      goal: '<= 1.20',
    },
    ...(await ingestion(service, consumers)),
  ];
}

async function ingestion(service: RunningService, consumers: Consumers): Promise<Row[]> {
  const turnOf = (tenantPrefix: string) => (durationMs: number) =>
    applyLoad({
      port: service.port,
      path: '/api/v1/audit-events',
      apiKey: ADMIN_KEY,
      durationMs,
      connections: 64,
      eventsPerRequest: 1,
      tenants: 1,
      tenantPrefix,
    });
  const ask = askerOf(service, 'told-0');
  for (let i = 0; i < SUBSCRIPTIONS; i++) {
    const action = i === 0 ? standardEvent().action : `Other.Action${i}`;
    await ask('/webhooks/subscriptions', { ...subscriptionAt(consumers.ports[0]!, i), filters: { action } });
  }
  const [alone, told] = await inTurns(
    [
      { name: 'no subscription', turn: turnOf('untold') },
      { name: `${SUBSCRIPTIONS} subscriptions`, turn: turnOf('told') },
    ],
    { rounds: 4, before: async () => void (await isIdleWithin(service.pid, REST_MS_MAX)) },
  );
  const ratio = { against: 'no subscription', beside: alone!, goal: '>= 0.85' };
  return [
    figureRow('ingestion of single events, no subscription', alone!),
    ratioRow(`the same with ${SUBSCRIPTIONS} subscriptions, of which one matches`, told!, ratio),
  ];
}

function subscriptionAt(port: number, number = 0) {
  return {
    name: `consumer ${number} at ${port}`,
    url: `http://127.0.0.1:${port}/`,
    eventTypes: ['AuditEventReceived'],
  };
}

function lagRow(name: string, { p50, p99 }: ConsumersSeen): Row {
  return { name, figure: `p50 ${p50} ms, p99 ${p99} ms`, goal: 'p99 < 1 s' };
}

type Ask = (path: string, body: object) => Promise<void>;

function askerOf({ port }: RunningService, tenant = TENANT): Ask {
  return async (path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method: 'POST',
      headers: { 'X-API-Key': ADMIN_KEY, 'X-Tenant-Id': tenant, 'Content-Type': 'application/json' },
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
