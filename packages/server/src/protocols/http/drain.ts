// Stopping without cutting anyone off. For a moment new connections are still accepted, because those that wait to
// be would be reset; then no more. Requests under way are answered; a connection that is kept alive gets a
// moment to send its next request, which is answered with `Connection: close`, because closing it under a request on
// its way would look like a failure. Then idle and refused connections are closed, somewhat later those whose head
// never became a request, and at the end of the given time all of them. Before each step,
// requests that have arrived are read: timers fire first, and a process that was suspended for a while finds both at once.

import { Server as NetServer } from 'node:net';
import { type Clock, wait } from '../../runtime/clock.ts';
import type { HttpServer } from './http-server.ts';

export interface DrainTimes {
  readonly acceptGraceMs: number;
  readonly idleGraceMs: number;
  readonly timeoutMs: number;
}

const LOOK_MS = 50;

/** How long a request may take to be one. */
const HEAD_MS_MAX = 2000;

/** Resolves with the number of connections that had to be cut. */
export async function drain(server: HttpServer, times: DrainTimes, clock: Clock): Promise<number> {
  if (times.acceptGraceMs > 0) await wait(clock, times.acceptGraceMs);
  const before = server.open.bytesRead();
  await seeArrived(server);
  const closed = new AbortController();
  // http.Server's own close would end idle connections at once.
  NetServer.prototype.close.call(server, () => closed.abort());
  const startedNs = clock.monotonicNs();
  const elapsedMs = () => (clock.monotonicNs() - startedNs) / 1e6;

  await wait(clock, times.idleGraceMs, closed.signal);
  while (!closed.signal.aborted && elapsedMs() < times.timeoutMs) {
    await seeArrived(server);
    // Node's own way to close what is idle would cut answers that are not read to their end yet.
    server.open.closeResting(elapsedMs() < HEAD_MS_MAX ? before : undefined);
    await wait(clock, LOOK_MS, closed.signal);
  }
  const cut = closed.signal.aborted ? 0 : await connectionsOf(server);
  server.closeAllConnections();
  // Ends the timer by which Node looks after slow connections.
  server.close();
  return cut;
}

/** Turns of the event loop without a new request: one to read, and one to begin what was read. */
const QUIET_TURNS = 2;
/** Twice as many as can wait to be accepted, of which each turn accepts one. */
const TURNS_MAX = 1024;

async function seeArrived(server: NetServer): Promise<void> {
  let quiet = 0;
  const onCome = () => (quiet = 0);
  server.on('connection', onCome);
  for (let turn = 0; turn < TURNS_MAX && quiet < QUIET_TURNS; turn++) {
    quiet += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  server.off('connection', onCome);
}

function connectionsOf(server: NetServer): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
}
