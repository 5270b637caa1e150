// Appends through a writer that may be in another thread: a pool is transferred as one buffer that comes back with the
// results, and is reused.

import type { AppendOutcome, AppendRequest, LogWriter } from '../../streams/log.ts';
import { encodePool } from './append-message.ts';
import { decodeResults } from './append-results.ts';

/** Buffers of unusually large pools are not kept, nor more buffers than are usually in use. */
const ROOM_BYTES_MAX = 8 * 1024 * 1024;
const ROOMS_MAX = 2;

/** Sent instead of all results, if some requests wait for logs that another node holds. */
export interface HeldPool {
  /** Requests the buffer with all results. */
  readonly ticket: number;
  /** The positions of the decided requests. */
  readonly places: readonly number[];
  /** Their results. */
  readonly decided: ArrayBuffer;
}

/** Returns the buffer with the results. */
type SendPool = (pool: ArrayBuffer, requests: readonly AppendRequest[]) => Promise<ArrayBuffer | HeldPool>;

/** `askRest` is for a writer that lets parts of a pool wait. */
export function appendsBy(
  send: SendPool,
  askRest?: (ticket: number) => Promise<ArrayBuffer>,
): LogWriter['append'] {
  const rooms: ArrayBuffer[] = [];
  return async (requests, now, onLocked) => {
    const first = await send(encodePool(requests, now, rooms.pop()), requests);
    if ('ticket' in first) onLocked?.(decidedIn(first, requests));
    const answer = 'ticket' in first ? await askRest!(first.ticket) : first;
    const results = decodeResults(answer, requests);
    if (answer.byteLength <= ROOM_BYTES_MAX && rooms.length < ROOMS_MAX) rooms.push(answer);
    return results;
  };
}

function decidedIn(
  { places, decided }: HeldPool,
  requests: readonly AppendRequest[],
): Map<number, AppendOutcome> {
  const results = decodeResults(
    decided,
    places.map((place) => requests[place]!),
  );
  return new Map(places.map((place, i) => [place, results[i]!]));
}
