// How a log is written in another thread: what is asked there, and the port as main has it. A pool goes as one buffer that
// changes hands and comes back with the results in it, to be used again.

import type { TenantId } from '@tallystick/contract';
import type {
  AppendAnswer,
  AppendRequest,
  AppendTime,
  EpochRequest,
  EpochResult,
  LogWriter,
  SealRequest,
  SealResult,
} from '../../streams/log.ts';
import type { ThreadHandle } from '../../runtime/thread.ts';
import { encodePool } from './append-message.ts';
import { decodeResults } from './append-results.ts';
import type { PoolCommitments } from './pool-commitments.ts';

export type LogWriterMessage =
  | { readonly verb: 'Append'; readonly pool: ArrayBuffer; readonly commitments?: PoolCommitments }
  | { readonly verb: 'Seal'; readonly request: SealRequest; readonly now: AppendTime }
  | { readonly verb: 'BeginEpoch'; readonly request: EpochRequest; readonly now: AppendTime }
  | { readonly verb: 'SealAged'; readonly now: AppendTime; readonly except: readonly TenantId[] }
  | { readonly verb: 'SweepUsedKeys'; readonly steadyNowMs: number }
  | { readonly verb: 'Probe' };

/** Gives the buffer with the results. */
type SendPool = (pool: ArrayBuffer, requests: readonly AppendRequest[]) => Promise<unknown>;

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

/** `send` is for pools that take another way, `askRest` for a writer that lets some of a pool wait. */
export function writesThrough(
  writer: Pick<ThreadHandle<LogWriterMessage>, 'ask'>,
  send: SendPool = (pool) => writer.ask({ verb: 'Append', pool }, [pool]),
  askRest?: (ticket: number) => Promise<unknown>,
): LogWriter {
  const rooms: ArrayBuffer[] = [];
  return {
    async append(requests, now, onHeld) {
      const first = await send(encodePool(requests, now, rooms.pop()), requests);
      if (isHeld(first)) onHeld?.(decidedIn(first, requests));
      const answer = isHeld(first) ? await askRest?.(first.ticket) : first;
      if (!(answer instanceof ArrayBuffer)) throw new Error('the writer answered something else');
      const results = decodeResults(answer, requests);
      if (answer.byteLength <= ROOM_BYTES_MAX && rooms.length < ROOMS_MAX) rooms.push(answer);
      return results;
    },
    // The writer answers what the journal gave it, so these casts only repeat its types.
    seal: async (request, now) => (await writer.ask({ verb: 'Seal', request, now })) as SealResult,
    beginEpoch: async (request, now) =>
      (await writer.ask({ verb: 'BeginEpoch', request, now })) as EpochResult,
    sealAged: async (now, except = []) => (await writer.ask({ verb: 'SealAged', now, except })) === true,
    sweepUsedKeys: async (steadyNowMs) => (await writer.ask({ verb: 'SweepUsedKeys', steadyNowMs })) === true,
    probe: async () => void (await writer.ask({ verb: 'Probe' })),
  };
}

function isHeld(answer: unknown): answer is HeldPool {
  return typeof answer === 'object' && answer !== null && 'ticket' in answer;
}

function decidedIn(
  { places, decided }: HeldPool,
  requests: readonly AppendRequest[],
): Map<number, AppendAnswer> {
  const results = decodeResults(
    decided,
    places.map((place) => requests[place]!),
  );
  return new Map(places.map((place, i) => [place, results[i]!]));
}
