// Ingestion through the whole service, durable before the answer, against a bare route that validates and stores
// nothing (W1 single events, W2 batches), as careful clients send it against bare (careful.ts), and over ten thousand
// tenants against one (W7). On PostgreSQL also against what the
// database does with the same rows and nothing else. A turn begins with the index caught up; in it the index does as it
// does in a burst: it stands back at first, and then is at work.

import { provision } from '../packages/server/src/storage/postgres/schema/provision.ts';
import { type Backend, type OpenPostgres, POSTGRES, SQLITE } from './backends.ts';
import { measureCareful } from './careful.ts';
import type { Benchmark, Row } from './measure.ts';
import { Caller, untilIndexed } from './processes/caller.ts';
import type { Load } from './processes/load.ts';
import {
  ADMIN_KEY,
  applyLoad,
  applyStagedCopy,
  type RunningService,
  startBareRoute,
  startService,
} from './processes/processes.ts';
import { figureRow, inTurns, type LoadContender, ratioRow, type Turns } from './turns.ts';

const ROUNDS: Readonly<Record<Backend['name'], number>> = { SQLite: 8, PostgreSQL: 6 };

const single = { connections: 64, eventsPerRequest: 1, apiKey: ADMIN_KEY };
const batch = { connections: 8, eventsPerRequest: 500, apiKey: ADMIN_KEY };
const oneTenant = { tenants: 1, tenantPrefix: 'acme' };
const manyTenants = { tenants: 10_000, tenantPrefix: 'tenant' };
const TENANT = `${oneTenant.tenantPrefix}-0`;

export const benchmark = ingestOn(SQLITE);
export const onPostgres = ingestOn(POSTGRES);

function ingestOn(backend: Backend): Benchmark {
  return {
    name: `ingest${backend.suffix}`,
    title: `W1, W2, W7 on ${backend.name}: ingestion, fsync before every answer, load on the same machine`,
    run: () => measureIngest(backend),
  };
}

async function measureIngest(backend: Backend): Promise<Row[]> {
  await using opened = await backend.open();
  await using service = await startService(undefined, [], opened.settings);
  await using bare = await startBareRoute();
  const { postgres } = opened;
  const rest = { rounds: ROUNDS[backend.name], before: () => untilIndexed(service, ADMIN_KEY) };
  const here = { port: service.port, path: '/api/v1/audit-events' };
  const quiet = { without: postgres === undefined ? [service] : [service, postgres.server] };

  const bareSingleLoad = { ...single, ...oneTenant, port: bare.port, path: '/single' };
  const w1Load = contender('W1', { ...single, ...oneTenant, ...here });
  const singles = await inTurns([{ ...contender('bare single', bareSingleLoad), ...quiet }, w1Load], rest);
  const lagOfSingles = await lagRow('W1', service);

  const bareBatchLoad = { ...batch, ...oneTenant, port: bare.port, path: '/batch' };
  const w2Load = { ...batch, ...oneTenant, ...here, path: '/api/v1/audit-events/batch' };
  const batches = await inTurns(
    [
      { ...contender('bare batch', bareBatchLoad), ...quiet },
      contender('W2', w2Load),
      ...(postgres === undefined ? [] : [await stagedCopy(postgres, service)]),
    ],
    rest,
  );
  const lagOfBatches = await lagRow('W2', service);

  const careful = [
    ...(await measureCareful({ name: 'W1 single events', ...single, ...oneTenant, ...here }, rest)),
    ...(await measureCareful({ name: 'W2 batches of 500', ...w2Load }, rest)),
    ...(await measureCareful({ name: 'batches of 100', ...w2Load, eventsPerRequest: 100 }, rest)),
  ];

  // Last: ten thousand tenants are signed for many seconds after the load has ended.
  const tenants = await inTurns([w1Load, contender('W7', { ...single, ...manyTenants, ...here })], rest);
  return [
    ...singleRows(singles),
    ...(postgres === undefined ? [] : [lagOfSingles]),
    ...batchRows(batches),
    ...(postgres === undefined ? [] : [lagOfBatches]),
    ...careful,
    tenantsRow(tenants, singles),
  ];
}

function contender(name: string, load: Omit<Load, 'durationMs'>): LoadContender {
  return { name, turn: (durationMs) => applyLoad({ ...load, durationMs }) };
}

/** The rows that the service has stored, stored again in a database of their own. */
async function stagedCopy({ server, url }: OpenPostgres, service: RunningService): Promise<LoadContender> {
  const to = await server.createDatabase();
  await provision({ url: to, ownerUrl: undefined });
  const settings = { from: url, to, tenant: TENANT };
  return {
    name: 'staged COPY',
    turn: (durationMs) => applyStagedCopy({ ...settings, durationMs }),
    without: [service],
  };
}

async function lagRow(what: string, service: RunningService): Promise<Row> {
  using caller = new Caller(service, ADMIN_KEY, TENANT);
  return { name: `index behind the log, after ${what}`, figure: `${await caller.lagMs()} ms` };
}

function singleRows([bare = [], w1 = []]: readonly Turns[]): Row[] {
  const goal = '>= 0.50, p99 < 50 ms';
  return [
    figureRow('bare route, single events, 64 connections', bare),
    ratioRow('W1 single events, 64 connections', w1, { against: 'the bare route', beside: bare, goal }),
  ];
}

function batchRows([bare = [], w2 = [], copied]: readonly Turns[]): Row[] {
  const name = 'W2 batches of 500, 8 connections';
  const rows = [
    figureRow('bare route, batches of 500, 8 connections', bare),
    ratioRow(name, w2, { against: 'the bare route', beside: bare, goal: '>= 0.30' }),
  ];
  if (copied === undefined) return rows;
  return [
    ...rows,
    figureRow('staged COPY of the same rows, row-level security', copied),
    ratioRow(name, w2, { against: 'the staged COPY', beside: copied }),
  ];
}

function tenantsRow([w1 = [], w7 = []]: readonly Turns[], [, w1Before = []]: readonly Turns[]): Row {
  const best = [...w1Before, ...w1];
  return ratioRow('W7 single events, 10,000 tenants in turn', w7, {
    against: 'W1',
    beside: w1,
    best,
    goal: '>= 0.70',
  });
}
