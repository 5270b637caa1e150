// Two services on one database against one service on another of the same server: single events and batches, over many
// tenants. Who takes how much of the machine is said beside it: where its processors are the limit, a second node
// cannot help.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresServer } from '../packages/server/src/testing/postgres-server.ts';
import { startBenchPostgres } from './backends.ts';
import { CORES, coresBetween, cpuSeconds, type Share } from './cpu.ts';
import { type Benchmark, median, type Row } from './measure.ts';
import { untilIndexed } from './processes/caller.ts';
import type { Load } from './processes/load.ts';
import type { LoadSeen } from './processes/observed.ts';
import { ADMIN_KEY, applyLoad, type RunningService, startService } from './processes/processes.ts';
import { figureRow, inTurns, type LoadContender, ratioRow } from './turns.ts';

const ROUNDS = 5;
/** From here on the machine has nothing left for anybody. */
const BUSY = 0.9;
const KINDS = {
  'single events, 64 connections': { path: '/api/v1/audit-events', connections: 64, eventsPerRequest: 1 },
  'batches of 500, 8 connections': {
    path: '/api/v1/audit-events/batch',
    connections: 8,
    eventsPerRequest: 500,
  },
};
type Kind = keyof typeof KINDS;
const TENANTS = 64;

export const benchmark: Benchmark = {
  name: 'nodes-postgres',
  title: `two nodes on one database, ${TENANTS} tenants, database and load on the same machine of ${CORES} cores`,
  async run() {
    await using server = await startBenchPostgres();
    await using one = await startNodes(server, ['alone']);
    await using two = await startNodes(server, ['first', 'second']);
    const rows: Row[] = [];
    for (const kind of Object.keys(KINDS) as Kind[]) rows.push(...(await compared(kind, server, one, two)));
    return rows;
  },
};

/** Those of one database. */
interface Nodes extends AsyncDisposable {
  readonly running: readonly RunningService[];
}

/** They share a data directory, which has the keys. */
async function startNodes(server: PostgresServer, names: readonly string[]): Promise<Nodes> {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-bench-'));
  const stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const settings = { Storage__Url: await server.createDatabase() };
  const running: RunningService[] = [];
  for (const name of names)
    running.push(stack.use(await startService(directory, [], { ...settings, Node__Name: name })));
  return { running, [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose]() };
}

async function compared(kind: Kind, server: PostgresServer, one: Nodes, two: Nodes): Promise<Row[]> {
  const meters = [new Meter(server, one), new Meter(server, two), new Meter(server, two)];
  const [alone] = one.running;
  const [first, second] = two.running;
  const ways: readonly [string, readonly Omit<Load, 'durationMs'>[]][] = [
    ['one', [half(kind, alone!, 'any'), half(kind, alone!, 'any')]],
    ['two, any tenant at any', [half(kind, first!, 'any'), half(kind, second!, 'any')]],
    ['two, each tenant at one', [half(kind, first!, 'first'), half(kind, second!, 'second')]],
  ];
  const contenders = ways.map(([name, loads], i): LoadContender => {
    const turn = (durationMs: number) =>
      meters[i]!.during(() => Promise.all(loads.map((load) => applyLoad({ ...load, durationMs }))));
    return { name, turn: async (ms) => together(await turn(ms)), without: (i === 0 ? two : one).running };
  });
  const [single = [], anywhere = [], apart = []] = await inTurns(contenders, {
    rounds: ROUNDS,
    async before() {
      for (const { running } of [one, two]) await untilIndexed(running[0]!, ADMIN_KEY);
    },
  });
  const against = { against: 'one node', beside: single, goal: '>= 1.3 where processors are left' };
  return [
    figureRow(`${kind}: one node`, single),
    meters[0]!.row('  one node'),
    ratioRow(`${kind}: two, any tenant at any`, anywhere, against),
    meters[1]!.row('  two nodes, any tenant at any'),
    ratioRow(`${kind}: two, each tenant at one`, apart, against),
    meters[2]!.row('  two nodes, each tenant at one'),
  ];
}

/** One of two load generators: as many of them whether one node or two take what they send. */
function half(kind: Kind, { port }: RunningService, tenantPrefix: string): Omit<Load, 'durationMs'> {
  const { path, connections, eventsPerRequest } = KINDS[kind];
  const tenants = tenantPrefix === 'any' ? TENANTS : TENANTS / 2;
  const load = { path, eventsPerRequest, connections: connections / 2 };
  return { ...load, port, tenants, tenantPrefix, apiKey: ADMIN_KEY };
}

function together(seen: readonly LoadSeen[]): LoadSeen {
  const sum = (of: (each: LoadSeen) => number) => seen.reduce((total, each) => total + of(each), 0);
  const worst = (of: (each: LoadSeen) => number) => Math.max(...seen.map(of));
  return {
    requestsPerSecond: sum(({ requestsPerSecond }) => requestsPerSecond),
    eventsPerSecond: sum(({ eventsPerSecond }) => eventsPerSecond),
    p50Ms: worst(({ p50Ms }) => p50Ms),
    p95Ms: worst(({ p95Ms }) => p95Ms),
    p99Ms: worst(({ p99Ms }) => p99Ms),
    refused: Object.assign({}, ...seen.map(({ refused }) => refused)) as LoadSeen['refused'],
  };
}

/** Which share of the machine the turns of one contender took. */
class Meter {
  readonly #server: PostgresServer;
  readonly #pids: readonly number[];
  readonly #turns: Readonly<Record<Share, number>>[] = [];

  constructor(server: PostgresServer, { running }: Nodes) {
    this.#server = server;
    this.#pids = running.map(({ pid }) => pid);
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    const [before, beganAt] = [cpuSeconds(this.#pids, this.#server), performance.now()];
    const result = await work();
    const after = cpuSeconds(this.#pids, this.#server);
    const seconds = (performance.now() - beganAt) / 1000;
    if (before !== undefined && after !== undefined) this.#turns.push(coresBetween(before, after, seconds));
    return result;
  }

  row(name: string): Row {
    if (this.#turns.length === 0) return { name, figure: 'processors: not known here' };
    const cores = (share: Share) => median(this.#turns.map((turn) => turn[share]));
    const shares = (['nodes', 'database', 'load'] as const).map(
      (share) => `${share} ${cores(share).toFixed(2)}`,
    );
    const busy = cores('machine');
    const limit = busy > BUSY * CORES ? ': the processors are the limit' : '';
    return { name, figure: `${shares.join(', ')}; ${busy.toFixed(2)} of ${CORES} cores busy${limit}` };
  }
}
