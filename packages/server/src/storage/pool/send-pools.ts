// Appends through a writer that may be in another thread: a pool goes as one buffer that changes hands and comes back with
// the results in it, to be used again.

import type { AppendOutcome, AppendRequest, LogWriter } from '../../streams/log.ts';
import { encodePool } from './append-message.ts';
import { decodeResults } from './append-results.ts';

/** A buffer that only an uncommonly large pool needed is not kept, nor more of them than are commonly under way. */
const ROOM_BYTES_MAX = 8 * 1024 * 1024;
const ROOMS_MAX = 2;

/** In the place of all results, where some requests wait for logs that somebody else holds. */
export interface HeldPool {
  /** By which the buffer with all results is asked for. */
  readonly ticket: number;
  /** Of the requests that are decided. */
  readonly places: readonly number[];
  /** Their results. */
  readonly decided: ArrayBuffer;
}

/** Gives the buffer with the results. */
type SendPool = (pool: ArrayBuffer, requests: readonly AppendRequest[]) => Promise<ArrayBuffer | HeldPool>;

/** `askRest` is for a writer that lets some of a pool wait. */
export function appendsBy(
  send: SendPool,
  askRest?: (ticket: number) => Promise<ArrayBuffer>,
): LogWriter['append'] {
  const rooms: ArrayBuffer[] = [];
  return async (requests, now, onHeld) => {
    const first = await send(encodePool(requests, now, rooms.pop()), requests);
    if ('ticket' in first) onHeld?.(decidedIn(first, requests));
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
