// Beside the way people do it by hand: single events (as in W1) and batches (as in W2), over HTTP, durable before the answer, each in
// a database of its own on the same server. What they are is in peers/. They have to be installed first, by
// `npm ci --prefix bench/peers`: nobody needs them for anything else.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startBenchPostgres } from './backends.ts';
import type { Benchmark, Row } from './measure.ts';
import { untilIndexed } from './processes/caller.ts';
import type { Load } from './processes/load.ts';
import { ADMIN_KEY, applyLoad, type Running, startPeer, startService } from './processes/processes.ts';
import { figureRow, inTurns, ratioRow, type Turns } from './turns.ts';

const ROUNDS = 5;
const PEERS = {
  'Express and one INSERT': 'insert.ts',
  'a hash-chaining trigger': 'hash-chain.ts',
  Emmett: 'emmett.ts',
};

const KINDS = {
  'single events, 64 connections': { connections: 64, eventsPerRequest: 1 },
  'batches of 500, 8 connections': { connections: 8, eventsPerRequest: 500 },
};
type Kind = keyof typeof KINDS;

/** Somebody who takes events. */
interface Taker extends Running {
  readonly name: string;
  /** By how many are in a request. */
  readonly paths: Readonly<Record<number, string>>;
}

const OURS = { 1: '/api/v1/audit-events', 500: '/api/v1/audit-events/batch' };
const THEIRS = { 1: '/events', 500: '/events/batch' };

export const benchmark: Benchmark = {
  name: 'peers',
  title: 'W1 and W2 beside the way people do it by hand, the same durability, the same load',
  async run() {
    if (!existsSync(join(import.meta.dirname, 'peers/node_modules')))
      return [{ name: 'not installed', figure: '', goal: 'npm ci --prefix bench/peers' }];
    await using server = await startBenchPostgres();
    await using running = new AsyncDisposableStack();
    const settings = { Storage__Url: await server.createDatabase() };
    const onPostgres = running.use(await startService(undefined, [], settings));
    const onSqlite = running.use(await startService());
    const ours: Taker[] = [
      { ...onPostgres, name: 'Tallystick on PostgreSQL', paths: OURS },
      { ...onSqlite, name: 'Tallystick on SQLite', paths: OURS },
    ];
    const theirs: Taker[] = [];
    for (const [name, file] of Object.entries(PEERS)) {
      const peer = running.use(await startPeer(file, await server.createDatabase()));
      theirs.push({ ...peer, name, paths: THEIRS });
    }
    const rows: Row[] = [];
    for (const kind of Object.keys(KINDS) as Kind[]) rows.push(...(await compared(kind, ours, theirs)));
    return rows;
  },
};

/** All but the one whose turn it is stand still, after what the service indexes behind a turn is done. */
async function compared(kind: Kind, ours: readonly Taker[], theirs: readonly Taker[]): Promise<Row[]> {
  const takers = [...ours, ...theirs];
  const turns = await inTurns(
    takers.map((taker) => ({
      name: `${kind}: ${taker.name}`,
      turn: (durationMs) => applyLoad(loadOf(kind, taker, durationMs)),
      without: takers.filter((other) => other !== taker),
    })),
    {
      rounds: ROUNDS,
      async before() {
        for (const our of ours) await untilIndexed(our, ADMIN_KEY);
      },
    },
  );
  const seen = new Map<Taker, Turns>(takers.map((taker, i) => [taker, turns[i]!]));
  return [
    ...theirs.map((peer) => figureRow(`${kind}: ${peer.name}`, seen.get(peer)!)),
    ...ours.flatMap((our) =>
      theirs.map((peer) =>
        ratioRow(`${kind}: ${our.name}`, seen.get(our)!, {
          against: peer.name,
          beside: seen.get(peer)!,
          goal: '> 1',
        }),
      ),
    ),
  ];
}

function loadOf(kind: Kind, { port, paths }: Taker, durationMs: number): Load {
  const shape = KINDS[kind];
  const path = paths[shape.eventsPerRequest]!;
  return { ...shape, port, path, durationMs, tenants: 1, tenantPrefix: 'acme', apiKey: ADMIN_KEY };
}
