// What encryption at rest costs ingestion (W13): single events and batches into two services on stores of their own, of which
// one seals the content of every event and the other of none. The one whose turn it is not stands still, after both
// indexes have come after their logs. Beside the rates stands the processor time of each service by event, with all that the index
// takes: that moves far less than the rates do where the machine has something else to do.

import { type Backend, POSTGRES, SQLITE, startBenchPostgres } from './backends.ts';
import type { Benchmark, Row } from './measure.ts';
import { cpuSecondsOf } from './cpu.ts';
import { Caller, untilIndexed } from './processes/caller.ts';
import { ADMIN_KEY, applyLoad, type RunningService, startService } from './processes/processes.ts';
import { figureRow, inTurns, type LoadContender, ratioRow } from './turns.ts';

/** Few enough for two or three minutes. */
const ROUNDS: Readonly<Record<Backend['name'], number>> = { SQLite: 8, PostgreSQL: 6 };
const SEALED = { Encryption__Classifications: 'All' };
const IN_THE_CLEAR = { Encryption__Classifications: 'None' };

const TENANT = 'acme';
const KINDS = {
  'W1 single events': { path: '/api/v1/audit-events', connections: 64, eventsPerRequest: 1 },
  'W2 batches of 500': { path: '/api/v1/audit-events/batch', connections: 8, eventsPerRequest: 500 },
};
type Kind = keyof typeof KINDS;

export const benchmark = sealingOn(SQLITE);
export const onPostgres = sealingOn(POSTGRES);

function sealingOn(backend: Backend): Benchmark {
  return {
    name: `sealing${backend.suffix}`,
    title: `W13 on ${backend.name}: ingestion with the content of everything encrypted at rest`,
    run: () => measureSealing(backend),
  };
}

async function measureSealing({ name }: Backend): Promise<Row[]> {
  await using server = name === 'PostgreSQL' ? await startBenchPostgres() : undefined;
  const store = async () => (server === undefined ? {} : { Storage__Url: await server.createDatabase() });
  await using clear = await startService(undefined, [], { ...(await store()), ...IN_THE_CLEAR });
  await using sealed = await startService(undefined, [], { ...(await store()), ...SEALED });
  const rows: Row[] = [];
  for (const kind of Object.keys(KINDS) as Kind[])
    rows.push(...(await compared(kind, clear, sealed, ROUNDS[name])));
  return rows;
}

async function compared(
  kind: Kind,
  clear: RunningService,
  sealed: RunningService,
  rounds: number,
): Promise<Row[]> {
  const services = [clear, sealed];
  // From after the warm-up on.
  let from: readonly Spent[] | undefined;
  const before = async () => {
    for (const service of services) await untilIndexed(service, ADMIN_KEY);
    from ??= await Promise.all(services.map(spentBy));
  };
  const contender = (how: string, service: RunningService): LoadContender => ({
    name: `${kind}, ${how}`,
    turn(durationMs) {
      const load = { ...KINDS[kind], tenants: 1, tenantPrefix: TENANT, apiKey: ADMIN_KEY };
      return applyLoad({ ...load, port: service.port, durationMs });
    },
    without: services.filter((other) => other !== service),
  });
  const contenders = [contender('nothing sealed', clear), contender('everything sealed', sealed)];
  const [plain = [], boxed = []] = await inTurns(contenders, { rounds, before });
  await before();
  const to = await Promise.all(services.map(spentBy));
  const [ofClear, ofSealed] = to.map(({ cpuSeconds, events }, i) => {
    return (1e6 * (cpuSeconds - from![i]!.cpuSeconds)) / (events - from![i]!.events);
  });
  const against = 'nothing sealed';
  return [
    figureRow(`${kind}, nothing sealed`, plain),
    ratioRow(`${kind}, everything sealed`, boxed, { against, beside: plain, goal: '>= 0.80' }),
    {
      name: `${kind}, everything sealed: processor time, with the index`,
      figure: `${ofSealed!.toFixed(0)} µs an event`,
      against,
      ratio: ofSealed! / ofClear!,
    },
  ];
}

/** Until now. */
interface Spent {
  readonly cpuSeconds: number;
  /** Stored. */
  readonly events: number;
}

async function spentBy(service: RunningService): Promise<Spent> {
  using caller = new Caller(service, ADMIN_KEY, `${TENANT}-0`);
  const { data } = await caller.get<{ data: { eventCount: number }[] }>('/api/v1/event-streams?limit=100');
  return {
    cpuSeconds: cpuSecondsOf(service.pid) ?? Number.NaN,
    events: data.reduce((sum, { eventCount }) => sum + eventCount, 0),
  };
}
