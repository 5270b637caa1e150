// W3: the highest rate at which events can arrive for long while the index stays within five seconds of the log, against
// the same rows and index entries written by prepared statements alone, from values that are made beforehand. BENCH_HOLD_MS
// sets another time to hold a rate for, BENCH_RATES other rates, separated by commas, the lowest first, BENCH_RAW_EVENTS
// another number of events for the statements alone.

import { type Backend, POSTGRES, SQLITE } from './backends.ts';
import { type Made, madeRow } from './made-rows.ts';
import type { Benchmark, Row } from './measure.ts';
import { ADMIN_KEY, startService, startSteadyLoad } from './processes/processes.ts';
import type { SteadyLoadSeen } from './processes/steady-load.ts';

const HOLD_MS = Number(process.env['BENCH_HOLD_MS'] ?? 20_000);
const LAG_MS_MAX = 5000;
const DIFFERENT_EVENTS_MAX = 100_000;
const RAW_ROUNDS_MIN = 3;

interface Way {
  readonly rates: string;
  /** About as many as arrive in a run: an index costs more the more there is in it. */
  readonly rawEvents: number;
  readonly rawInserts: () => Promise<(rows: readonly Made[]) => number | Promise<number>>;
}

const WAYS: Readonly<Record<Backend['name'], Way>> = {
  SQLite: {
    rates: '2000,3000,4000,5000,6000,8000,10000,12000,15000',
    rawEvents: 100_000,
    rawInserts: async () => (await import('./raw-inserts.ts')).rawInserts,
  },
  PostgreSQL: {
    rates: '500,1000,1500,2000,2500,3000,3500,4000,5000,6000',
    rawEvents: 40_000,
    rawInserts: async () => (await import('./raw-inserts-postgres.ts')).rawInserts,
  },
};

export const benchmark = sustainedOn(SQLITE);
export const onPostgres = sustainedOn(POSTGRES);

function sustainedOn(backend: Backend): Benchmark {
  return {
    name: `sustained${backend.suffix}`,
    title: `W3 on ${backend.name}: the rate that the index keeps up with for ${HOLD_MS / 1000} s`,
    run: () => measureSustained(backend),
  };
}

async function measureSustained(backend: Backend): Promise<Row[]> {
  const way = WAYS[backend.name];
  const rates = (process.env['BENCH_RATES'] ?? way.rates).split(',').map(Number);
  const rawEvents = Number(process.env['BENCH_RAW_EVENTS'] ?? way.rawEvents);
  const made = Array.from({ length: rawEvents }, (_, i) => madeRow(i));
  const rawInserts = await way.rawInserts();
  const rounds: number[] = [];
  const tried: Row[] = [];
  let best = 0;
  for (const rate of rates) {
    rounds.push(await rawInserts(made));
    const { lagP95Ms, eventsPerSecond } = await hold(backend, rate);
    tried.push({
      name: `${rate} a second: reached, lag`,
      figure: `${Math.round(eventsPerSecond)}/s, P95 ${Math.round(lagP95Ms)} ms`,
    });
    const isHeld = lagP95Ms < LAG_MS_MAX && eventsPerSecond >= 0.95 * rate;
    if (!isHeld) break;
    best = rate;
  }
  while (rounds.length < RAW_ROUNDS_MIN) rounds.push(await rawInserts(made));
  const raw = Math.max(...rounds);
  return [
    { name: 'rows of log and index, prepared statements alone', figure: `${Math.round(raw)}/s` },
    ...tried,
    {
      name: 'W3 sustained, lag P95 below 5 s',
      figure: `${best}/s`,
      against: 'the statements alone',
      ratio: best / raw,
      goal: '>= 0.60',
    },
  ];
}

/** By a service and a store that begin with nothing. */
async function hold(backend: Backend, rate: number): Promise<SteadyLoadSeen> {
  await using opened = await backend.open();
  await using service = await startService(undefined, [], opened.settings);
  const differentEvents = Math.min(DIFFERENT_EVENTS_MAX, (rate * HOLD_MS) / 1000);
  const tenant = { port: service.port, apiKey: ADMIN_KEY, tenant: 'reading' };
  await using load = await startSteadyLoad({
    ...tenant,
    eventsPerSecond: rate,
    firstEvent: 0,
    differentEvents,
  });
  await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
  return await load.end();
}
