// Follows a tenant's log from its open stream on, in the order of the log: every entry is read once and none is left out,
// over seals, failures and restarts of the service. It holds the entries to their sequence and to the hash chain, so that
// a log which does not go on from what was read is noticed. What fails after the first answer is tried again.

import { type AuditEvent, LIMITS, type StreamEvent } from '@tallystick/contract';
import { EvidenceError } from '@tallystick/evidence';
import { NoAnswer } from '../fetch-bytes.ts';
import type { ServedEvents, ServedStream } from './served-events.ts';

export interface FollowParts {
  readonly events: ServedEvents;
  /** Begin with the stream that was open then, in the place of the newest. */
  readonly from: string | undefined;
  /** Ends the walk. */
  readonly signal: AbortSignal;
  readonly wait: (ms: number) => Promise<void>;
  /** One line on what the reader should know. */
  readonly tell: (line: string) => void;
}

const POLL_MS = 1000;
/** Of a log that was empty when it was first looked at nothing is left out, be it sealed in the meantime. */
const EVER = '1970-01-01T00:00:00Z';
const PAUSE_MS = { first: 500, max: 30_000 } as const;

/** How far the log was read. */
interface Position {
  /** Undefined: nothing was read yet. */
  readonly next: number | undefined;
  /** Undefined where the entry before cannot be believed, or was not read. */
  readonly leafHash: string | undefined;
}

/** The events of one page after another; entries that this reader does not see are passed over. */
export async function* followEvents(parts: FollowParts): AsyncGenerator<readonly AuditEvent[]> {
  const { events, signal } = parts;
  const ask = patiently(parts);
  let ahead = await firstStreams(parts);
  let stream = ahead.shift();
  if (stream === undefined) parts.tell('nothing was ever written to this log; waiting for the first event');
  let position: Position = { next: undefined, leafHash: undefined };
  while (!signal.aborted) {
    const current = stream;
    if (current === undefined) {
      await parts.wait(POLL_MS);
      ahead = (await ask(() => firstStreams({ ...parts, from: EVER }))) ?? [];
      stream = ahead.shift();
      continue;
    }
    const { lastSequence, sealedAt } = (await ask(() => events.stream(current.streamId))) ?? current;
    if (lastSequence !== undefined && lastSequence >= (position.next ?? 1)) {
      const page = await ask(() => events.streamEvents(current.streamId, position.next));
      if (page === undefined) continue;
      if (page.length === 0) throw gap(`${lastSequence} is there, and nothing of it is shown`);
      for (const entry of page) position = step(position, entry, parts);
      yield page.filter(isShown);
    } else if (
      lastSequence !== undefined &&
      position.next !== undefined &&
      lastSequence < position.next - 1
    ) {
      throw gap(`the log ends at ${lastSequence}, and was read up to ${position.next - 1}`);
    } else {
      const next =
        sealedAt === undefined ? undefined : (ahead.shift() ?? (await ask(() => after(current, events))));
      if (next === undefined) await parts.wait(POLL_MS);
      else stream = next;
    }
  }
}

function isShown(entry: StreamEvent): entry is AuditEvent {
  return !('withheld' in entry);
}

/** The streams to begin with, oldest first: the newest alone, or all that may hold what happened since `from`. */
async function firstStreams({ events, from }: FollowParts): Promise<ServedStream[]> {
  const found: ServedStream[] = [];
  // An event is received at most so long before the time that it names.
  const sinceMs =
    from === undefined ? Number.POSITIVE_INFINITY : Date.parse(from) - LIMITS.timestampAheadMsMax;
  for await (const stream of newestFirst(events)) {
    if (found.length > 0 && !(Date.parse(stream.sealedAt ?? '') >= sinceMs)) break;
    found.unshift(stream);
  }
  return found;
}

/** The one that came after `stream`; undefined if there is none yet. */
async function after(stream: ServedStream, events: ServedEvents): Promise<ServedStream | undefined> {
  let later: ServedStream | undefined;
  for await (const each of newestFirst(events)) {
    if (each.streamId === stream.streamId) return later;
    later = each;
  }
  throw gap(`the stream ${stream.streamId} is gone`);
}

async function* newestFirst(events: ServedEvents): AsyncGenerator<ServedStream> {
  let cursor: string | undefined;
  do {
    const page = await events.streams(cursor);
    yield* page.streams;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

/** One entry further. */
function step({ next, leafHash }: Position, entry: StreamEvent, { tell }: FollowParts): Position {
  const { sequence, integrity } = entry;
  if (next !== undefined && sequence !== next) throw gap(`${sequence} is shown in the place of ${next}`);
  const isAltered = 'withheld' in entry && entry.withheld === 'Altered';
  if (isAltered) tell(`what is stored at sequence ${sequence} is not what was accepted: it is not shown`);
  if (next !== undefined && integrity.leafIndex === 0) {
    tell(`a new log begins at sequence ${sequence}, after a restore`);
  } else if (leafHash !== undefined && !isAltered && integrity.previousHash !== leafHash) {
    throw new EvidenceError(
      'CHAIN_BROKEN',
      `the entry at sequence ${sequence} does not go on from the one that was read before it; was the log restored?`,
    );
  }
  return { next: sequence + 1, leafHash: isAltered ? undefined : integrity.leafHash };
}

function gap(what: string): EvidenceError {
  return new EvidenceError('TRUNCATED', `the log is not the one that was followed: ${what}`);
}

/** Asks until there is an answer, after growing pauses; undefined when the walk is to end. */
function patiently({ signal, wait, tell }: FollowParts) {
  return async <Answer>(work: () => Promise<Answer>): Promise<Answer | undefined> => {
    let pauseMs: number = PAUSE_MS.first;
    while (!signal.aborted) {
      try {
        const answer = await work();
        if (pauseMs > PAUSE_MS.first) tell('there again');
        return answer;
      } catch (error) {
        if (signal.aborted) return undefined;
        if (!isPassing(error)) throw error;
        if (pauseMs === PAUSE_MS.first) tell(`${error.message}; trying again`);
        await wait(pauseMs);
        pauseMs = Math.min(2 * pauseMs, PAUSE_MS.max);
      }
    }
    return undefined;
  };
}

/** Nobody there, too much to do, or a failure of the service. */
function isPassing(error: unknown): error is NoAnswer {
  return (
    error instanceof NoAnswer && (error.status === undefined || error.status === 429 || error.status >= 500)
  );
}
