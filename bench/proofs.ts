// What it costs to make the log provable: batches with a checkpoint every second against batches without any; and how
// long a proof takes through the whole service (W6), how fast a data directory is verified.

import { checkStore } from '@tallystick/server';
import { type Benchmark, median, percentilesText, type Row } from './measure.ts';
import { Caller } from './processes/caller.ts';
import { ADMIN_KEY, applyLoad, type RunningService, startService } from './processes/processes.ts';

const ROUNDS = 8;
const DURATION_MS = 2000;
/** Of events that are far from each other: those of one tile would share all that is read. */
const PROOFS = 500;

const batch = {
  connections: 8,
  eventsPerRequest: 500,
  durationMs: DURATION_MS,
  apiKey: ADMIN_KEY,
  tenants: 1,
  tenantPrefix: 'acme',
  path: '/api/v1/audit-events/batch',
};

export const benchmark: Benchmark = {
  name: 'proofs',
  title: 'W6: checkpoints, proofs, verification of a store',
  async run() {
    await using signing = await startService();
    await using silent = await startService(undefined, [], { Log__CheckpointInterval: 'PT10H' });
    const [one, other]: number[][] = [[], []];
    for (const service of [signing, silent]) await applyLoad({ ...batch, port: service.port });
    for (let round = 0; round < ROUNDS; round++) {
      other!.push((await applyLoad({ ...batch, port: silent.port })).eventsPerSecond);
      one!.push((await applyLoad({ ...batch, port: signing.port })).eventsPerSecond);
    }
    const rows: Row[] = [
      {
        name: 'batches of 500, a checkpoint every second',
        figure: `${Math.round(Math.max(...one!))}/s`,
        against: 'without checkpoints',
        ratio: Math.max(...one!) / Math.max(...other!),
        medianRatio: median(one!.map((rate, i) => rate / other![i]!)),
        goal: '>= 0.90',
      },
    ];
    // Proofs are asked of a service at rest: after the load its index still has minutes to do.
    for (const service of [signing, silent]) {
      using caller = new Caller(service, ADMIN_KEY, 'acme-0');
      await caller.untilIndexed();
    }
    rows.push(...(await proofRows(signing)), await checkRow(signing));
    return rows;
  },
};

async function proofRows(service: RunningService): Promise<Row[]> {
  using caller = new Caller(service, ADMIN_KEY, 'acme-0');
  const streams = await caller.get<{ data: { streamId: string }[] }>('/api/v1/event-streams?status=Open');
  const { streamId } = streams.data[0]!;
  const { treeSize } = await caller.get<{ treeSize: number }>('/api/v1/checkpoints/latest');
  // Every other one only warms the compilers up: it lies elsewhere, so that it brings no tile that is measured.
  const asked = 2 * PROOFS;
  const sizes = Array.from({ length: asked }, (_, i) => 1 + Math.floor((i * (treeSize - 1)) / asked));
  const ids: string[] = [];
  for (const sequence of sizes) {
    const { data } = await caller.get<{ data: { eventId: string }[] }>(
      `/api/v1/event-streams/${streamId}/events?fromSequence=${sequence}&limit=1`,
    );
    ids.push(data[0]!.eventId);
  }
  const nothing = await timed(caller, Array<string>(asked).fill('/health/live'));
  const proofs = await timed(
    caller,
    ids.map((eventId) => `/api/v1/audit-events/${eventId}/proof`),
  );
  const consistency = await timed(
    caller,
    sizes.map((from) => `/api/v1/checkpoints/consistency?from=${from}`),
  );
  return [
    { name: 'a request that does nothing, by HTTP (GET /health/live)', figure: nothing },
    { name: `W6 proof of one event of ${treeSize}, by HTTP`, figure: proofs, goal: 'p95 < 5 ms' },
    { name: 'W6 consistency proof, by HTTP', figure: consistency, goal: 'p95 < 5 ms' },
  ];
}

async function checkRow({ dataDirectory }: RunningService): Promise<Row> {
  const startedAt = performance.now();
  const { totals, verified } = await checkStore(dataDirectory, { keys: [], seen: [] });
  if (!verified) throw new Error('the store does not verify');
  const perSecond = totals.entries / ((performance.now() - startedAt) / 1000);
  return {
    name: `verification of a data directory of ${totals.entries} events`,
    figure: `${Math.round(perSecond)}/s`,
    goal: '>= 30,000/s',
  };
}

/** How long every other one takes, one after the other, once the rest have been asked. */
async function timed(caller: Caller, paths: readonly string[]): Promise<string> {
  for (const path of paths.filter((_, i) => i % 2 === 0)) await caller.ask({ path });
  const tookMs: number[] = [];
  for (const path of paths.filter((_, i) => i % 2 === 1)) tookMs.push((await caller.ask({ path })).latencyMs);
  return percentilesText(tookMs, [0.5, 0.95]);
}
