// Ingestion through the whole service, durable before the answer, against a bare route that validates and stores
// nothing (W1 single events, W2 batches), and over ten thousand tenants against one (W7).

import { type Benchmark, median, type Row } from './measure.ts';
import type { Load, LoadSeen } from './processes/load.ts';
import { Caller } from './processes/caller.ts';
import { ADMIN_KEY, applyLoad, startBareRoute, startService } from './processes/processes.ts';

const ROUNDS = 8;
const DURATION_MS = 2000;
/** Makes the tenants, and lets the compilers finish: the rate still rises after four seconds. */
const WARM_UP_MS = 6000;

interface Contender {
  readonly name: string;
  readonly load: Load;
}

const single = { connections: 64, eventsPerRequest: 1, durationMs: DURATION_MS, apiKey: ADMIN_KEY };
const batch = { connections: 8, eventsPerRequest: 500, durationMs: DURATION_MS, apiKey: ADMIN_KEY };
const oneTenant = { tenants: 1, tenantPrefix: 'acme' };
const manyTenants = { tenants: 10_000, tenantPrefix: 'tenant' };

export const benchmark: Benchmark = {
  name: 'ingest',
  title: 'W1, W2, W7: ingestion, fsync before every answer, load on the same machine',
  run: () => measureIngest({}),
};

/** With these settings of the service. */
export async function measureIngest(settings: Readonly<Record<string, string>>): Promise<Row[]> {
  await using service = await startService(undefined, [], settings);
  await using bare = await startBareRoute();
  const here = { port: service.port, path: '/api/v1/audit-events' };
  // A connection for each time: the service closes one that is idle.
  const atRest = async () => {
    using caller = new Caller(service, ADMIN_KEY, `${oneTenant.tenantPrefix}-0`);
    await caller.untilIndexed();
  };
  const [bareSingle = [], w1 = []] = await inTurns(
    [
      { name: 'bare single', load: { ...single, ...oneTenant, port: bare.port, path: '/single' } },
      { name: 'W1', load: { ...single, ...oneTenant, ...here } },
    ],
    atRest,
  );
  const [bareBatch = [], w2 = []] = await inTurns(
    [
      { name: 'bare batch', load: { ...batch, ...oneTenant, port: bare.port, path: '/batch' } },
      { name: 'W2', load: { ...batch, ...oneTenant, ...here, path: '/api/v1/audit-events/batch' } },
    ],
    atRest,
  );
  // Last: ten thousand tenants are signed for many seconds after the load has ended.
  const [w7 = []] = await inTurns([{ name: 'W7', load: { ...single, ...manyTenants, ...here } }], atRest);
  return rows({ bareSingle, w1, w7, bareBatch, w2 });
}

/**
 * Turn by turn, each once the index has come after the log, so that whatever else the machine does meets all of them. Only what is compared takes turns: a server
 * that is asked for something else in between compiles its code anew for seconds, and that time would be taken for its own.
 */
async function inTurns(contenders: readonly Contender[], atRest: () => Promise<void>): Promise<LoadSeen[][]> {
  for (const { load } of contenders) await applyLoad({ ...load, durationMs: WARM_UP_MS });
  const seen = contenders.map((): LoadSeen[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, { name, load }] of contenders.entries()) {
      await atRest();
      const turn = await applyLoad(load);
      if (Object.keys(turn.refused).length > 0) throw new Error(`${name}: ${JSON.stringify(turn.refused)}`);
      seen[i]!.push(turn);
    }
  }
  return seen;
}

type Turns = readonly LoadSeen[];
type Seen = Readonly<Record<'bareSingle' | 'w1' | 'w7' | 'bareBatch' | 'w2', Turns>>;

function rows({ bareSingle, w1, w7, bareBatch, w2 }: Seen): Row[] {
  return [
    { name: 'bare route, single events, 64 connections', figure: figure(bestOf(bareSingle)) },
    row('W1 single events, 64 connections', w1, bareSingle, 'the bare route', '>= 0.50, p99 < 50 ms'),
    { name: 'bare route, batches of 500, 8 connections', figure: figure(bestOf(bareBatch)) },
    row('W2 batches of 500, 8 connections', w2, bareBatch, 'the bare route', '>= 0.30'),
    row('W7 single events, 10,000 tenants in turn', w7, w1, 'W1', '>= 0.70'),
  ];
}

function row(name: string, turns: Turns, ceiling: Turns, against: string, goal: string): Row {
  const best = bestOf(turns);
  return {
    name,
    figure: figure(best),
    against,
    ratio: best.eventsPerSecond / bestOf(ceiling).eventsPerSecond,
    medianRatio: median(turns.map((turn, i) => turn.eventsPerSecond / ceiling[i]!.eventsPerSecond)),
    goal,
  };
}

function bestOf(turns: Turns): LoadSeen {
  return turns.reduce((best, turn) => (turn.eventsPerSecond > best.eventsPerSecond ? turn : best));
}

function figure({ eventsPerSecond, p99Ms }: LoadSeen): string {
  return `${Math.round(eventsPerSecond)}/s p99 ${p99Ms.toFixed(1)} ms`;
}
