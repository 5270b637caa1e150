// W14: ingestion by each protocol against REST, in turns: batches of 500 by a stream of gRPC, single events by calls of gRPC, by
// GraphQL and by SOAP. Beside each figure stands what an event takes of the service's processor time, which other load on the
// machine moves less than the rate.

import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { cpuSecondsOf } from './cpu.ts';
import type { Benchmark, Row } from './measure.ts';
import { untilIndexed } from './processes/caller.ts';
import type { GrpcLoad } from './processes/grpc-load.ts';
import type { Load } from './processes/load.ts';
import { type LoadSeen, WARM_UP_MS } from './processes/observed.ts';
import {
  ADMIN_KEY,
  applyGrpcLoad,
  applyLoad,
  type RunningService,
  startService,
} from './processes/processes.ts';
import { figureRow, inTurns, type LoadContender, ratioRow, type Turns } from './turns.ts';

const ROUNDS = 6;
const TENANT = 'acme-0';
const oneTenant = { tenants: 1, tenantPrefix: 'acme', apiKey: ADMIN_KEY };
const single = { ...oneTenant, connections: 64, eventsPerRequest: 1 };

export const benchmark: Benchmark = {
  name: 'protocols',
  title: 'W14 on SQLite: ingestion by each protocol, fsync before every answer, load on the same machine',
  run: measureProtocols,
};

async function measureProtocols(): Promise<Row[]> {
  const grpcPort = await freePort();
  await using service = await startService(undefined, [], { Grpc__Port: String(grpcPort) });
  const rest = { rounds: ROUNDS, before: () => untilIndexed(service, ADMIN_KEY) };
  const http = (name: string, load: Omit<Load, 'durationMs' | 'port'>) =>
    timed(name, service, (durationMs) => applyLoad({ ...load, port: service.port, durationMs }));
  const grpc = (name: string, load: Omit<GrpcLoad, 'durationMs' | 'port' | 'tenant' | 'apiKey'>) =>
    timed(name, service, (durationMs) =>
      applyGrpcLoad({ ...load, port: grpcPort, tenant: TENANT, apiKey: ADMIN_KEY, durationMs }),
    );

  const batches = [
    http('REST batches of 500, 8 connections', {
      ...oneTenant,
      connections: 8,
      eventsPerRequest: 500,
      path: '/api/v1/audit-events/batch',
    }),
    grpc('gRPC stream, 500 a message, 8 streams', {
      method: 'IngestStream',
      connections: 8,
      calls: 1,
      ahead: 2,
      eventsPerRequest: 500,
    }),
  ];
  const singles = [
    http('REST single events, 64 connections', { ...single, path: '/api/v1/audit-events' }),
    grpc('gRPC single calls, 64 at a time', {
      method: 'Ingest',
      connections: 4,
      calls: 16,
      ahead: 1,
      eventsPerRequest: 1,
    }),
    http('GraphQL single events, 64 connections', { ...single, path: '/graphql/v1', as: 'GraphQL' }),
    http('SOAP single events, 64 connections', { ...single, path: '/soap/v1', as: 'SOAP' }),
  ];
  return [
    ...rows(batches, await inTurns(batches, rest), 'REST batches', ['>= 1.0']),
    ...rows(singles, await inTurns(singles, rest), 'REST single events', [undefined, '>= 0.5']),
  ];
}

interface Timed extends LoadContender {
  /** Microseconds of a processor that an event took of the service, in its cheapest turn. */
  readonly cpuUs: () => number | undefined;
}

function timed(
  name: string,
  { pid }: RunningService,
  apply: (durationMs: number) => Promise<LoadSeen>,
): Timed {
  let least: number | undefined;
  return {
    name,
    cpuUs: () => least,
    async turn(durationMs) {
      const before = cpuSecondsOf(pid);
      const seen = await apply(durationMs);
      const after = cpuSecondsOf(pid);
      const events = (seen.eventsPerSecond * (WARM_UP_MS + durationMs)) / 1000;
      if (before !== undefined && after !== undefined)
        least = Math.min(least ?? Infinity, ((after - before) * 1e6) / events);
      return seen;
    },
  };
}

function rows(
  contenders: readonly Timed[],
  turns: readonly Turns[],
  against: string,
  goals: readonly (string | undefined)[],
): Row[] {
  return contenders.map(({ name, cpuUs }, i) => {
    const us = cpuUs();
    const named = us === undefined ? name : `${name} (${us.toFixed(0)} us of a processor)`;
    if (i === 0) return figureRow(named, turns[0]!);
    const goal = goals[i - 1];
    return ratioRow(named, turns[i]!, { against, beside: turns[0]!, ...(goal !== undefined && { goal }) });
  });
}

/** The service says only on its own port which one it listens to. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
