// Stopping without cutting anyone off: new connections are accepted for a moment still, then every connection is told that it
// gets no further call. Those under way are answered, and what is left at the end of the time is cut.

import { type Clock, wait } from '../../../runtime/clock.ts';
import type { DrainTimes } from '../../http/drain.ts';
import type { GrpcListener } from './listener.ts';

const LOOK_MS = 50;

/** Resolves with the number of connections that had to be cut. */
export async function drainGrpc(
  { server, sessions }: GrpcListener,
  { acceptGraceMs, timeoutMs }: DrainTimes,
  clock: Clock,
): Promise<number> {
  if (acceptGraceMs > 0) await wait(clock, acceptGraceMs);
  if (server.listening) server.close();
  for (const session of sessions.keys()) session.close();
  const startedNs = clock.monotonicNs();
  while (sessions.size > 0 && clock.monotonicNs() - startedNs < timeoutMs * 1e6) await wait(clock, LOOK_MS);
  const cut = sessions.size;
  for (const session of sessions.keys()) session.destroy();
  return cut;
}
