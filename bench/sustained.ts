// W3: the highest rate at which events can arrive for long while each of them is found at once, beside searches, against the
// rate of a burst of batches. BENCH_HOLD_MS sets another time to hold a rate for, BENCH_RATES other rates, separated by commas,
// the lowest first.

import { type Backend, POSTGRES, SQLITE } from './backends.ts';
import type { Benchmark, Row } from './measure.ts';
import { ADMIN_KEY, applyLoad, startService, startSteadyLoad } from './processes/processes.ts';
import type { SteadyLoadSeen } from './processes/steady-load.ts';

const HOLD_MS = Number(process.env['BENCH_HOLD_MS'] ?? 20_000);
/** A longer lag means that the index cannot keep up. */
const LAG_MS_MAX = 1000;
const DIFFERENT_EVENTS_MAX = 100_000;
const BURST_MS = 4000;
const BURSTS_MIN = 3;

const RATES: Readonly<Record<Backend['name'], string>> = {
  SQLite: '4000,6000,8000,10000,12000,14000,16000,18000,20000',
  PostgreSQL: '2000,4000,6000,8000,10000,12000,14000,16000',
};

export const benchmark = sustainedOn(SQLITE);
export const onPostgres = sustainedOn(POSTGRES);

function sustainedOn(backend: Backend): Benchmark {
  return {
    name: `sustained${backend.suffix}`,
    title: `W3 on ${backend.name}: the rate that can be held for ${HOLD_MS / 1000} s, all of it found at once`,
    run: () => measureSustained(backend),
  };
}

async function measureSustained(backend: Backend): Promise<Row[]> {
  const rates = (process.env['BENCH_RATES'] ?? RATES[backend.name]).split(',').map(Number);
  const bursts: number[] = [];
  const tried: Row[] = [];
  let best = 0;
  for (const rate of rates) {
    bursts.push(await burst(backend));
    const { lagP95Ms, eventsPerSecond } = await hold(backend, rate);
    tried.push({
      name: `${rate} a second: reached, lag`,
      figure: `${Math.round(eventsPerSecond)}/s, P95 ${Math.round(lagP95Ms)} ms`,
    });
    const isHeld = lagP95Ms < LAG_MS_MAX && eventsPerSecond >= 0.95 * rate;
    if (!isHeld) break;
    best = rate;
  }
  while (bursts.length < BURSTS_MIN) bursts.push(await burst(backend));
  const fastest = Math.max(...bursts);
  return [
    { name: 'W2, a burst of batches', figure: `${Math.round(fastest)}/s` },
    ...tried,
    {
      name: 'W3 sustained, found at once',
      figure: `${best}/s`,
      against: 'the burst',
      ratio: best / fastest,
      goal: '>= 0.60',
    },
  ];
}

/** By a service and a store that begin with nothing. */
async function burst(backend: Backend): Promise<number> {
  await using opened = await backend.open();
  await using service = await startService(undefined, [], opened.settings);
  const { eventsPerSecond } = await applyLoad({
    port: service.port,
    path: '/api/v1/audit-events/batch',
    connections: 8,
    durationMs: BURST_MS,
    eventsPerRequest: 500,
    tenants: 1,
    tenantPrefix: 'burst',
    apiKey: ADMIN_KEY,
  });
  return eventsPerSecond;
}

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
