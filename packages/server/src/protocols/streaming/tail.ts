// The tail of a log: its entries by sequence, and then each new one as it comes. It is made of calls of operations, one a
// page, so that who may see what, the notices of Secret reads and the checks for gaps are those of the operations. Each
// call authenticates its caller again: a credential that is revoked ends the tail with the error of the next call.

import {
  type Answer,
  type EventStream,
  type InputOf,
  type StreamEvent,
  type StreamId,
  type TenantId,
} from '@tallystick/contract';
import type { Gateway } from '../../gateway/pipeline.ts';
import type { LastingAnswer } from './lasting-answers.ts';

export type TailOperation = 'streams.list' | 'streams.listEvents';

/** Asks an operation in the name of the tail's caller, and gives the body of its answer. */
export type TailAsk = <Name extends TailOperation>(
  name: Name,
  input: InputOf<Name>,
) => Promise<Answer<Name>['body']>;

export interface TailParts extends Pick<Gateway, 'growth' | 'clock'> {
  readonly ask: TailAsk;
  readonly tenant: TenantId;
  /** What the tail is made for; it ends with it, and disposes of it. */
  readonly lasting: LastingAnswer;
}

const PAGE_MAX = 100;
/** Another node may have appended: growth is told of this one alone. */
const LOOK_MS = 1000;

/**
 * From the entry with this sequence on; undefined: from the next one that is appended. Rejects if the caller may not read
 * the log.
 */
export async function openTail(
  from: number | undefined,
  parts: TailParts,
): Promise<AsyncGenerator<StreamEvent, void>> {
  try {
    const next = from ?? (await endOf(parts.ask)) + 1;
    return tailFrom(next, await streamAt(next, parts.ask), parts);
  } catch (error) {
    parts.lasting[Symbol.dispose]();
    throw error;
  }
}

async function* tailFrom(
  from: number,
  begin: StreamId | undefined,
  { ask, tenant, growth, clock, lasting }: TailParts,
): AsyncGenerator<StreamEvent, void> {
  using answer = lasting;
  const { signal } = answer;
  using watch = growth.watch(tenant);
  let [next, stream] = [from, begin];
  while (!signal.aborted) {
    if (stream !== undefined) {
      const page = await ask('streams.listEvents', { streamId: stream, fromSequence: next, limit: PAGE_MAX });
      for (const entry of page.data) {
        if (signal.aborted) return;
        next = entry.sequence + 1;
        yield entry;
      }
      if (page.data.length > 0) continue;
    }
    // Either all was read, or the log goes on in another stream.
    while (!signal.aborted && (await endOf(ask)) < next) await watch.wait(clock, LOOK_MS, signal);
    if (!signal.aborted) stream = await streamAt(next, ask);
  }
}

/** The sequence of the log's last entry, 0 if there is none. */
async function endOf(ask: TailAsk): Promise<number> {
  // The open stream may be empty; the one before it is not.
  const { data } = await ask('streams.list', { limit: 2 });
  return data.find(({ lastSequence }) => lastSequence !== undefined)?.lastSequence ?? 0;
}

/** The stream that holds the entry, or will hold it: the oldest that does not end before it, else the newest. */
async function streamAt(sequence: number, ask: TailAsk): Promise<StreamId | undefined> {
  let found: EventStream | undefined;
  let cursor: string | undefined;
  do {
    const page = await ask('streams.list', { limit: PAGE_MAX, ...(cursor !== undefined && { cursor }) });
    for (const stream of page.data) {
      const { lastSequence = Infinity } = stream;
      if (found !== undefined && lastSequence < sequence) return found.streamId;
      found = stream;
    }
    cursor = page.pagination.cursor ?? undefined;
  } while (cursor !== undefined);
  return found?.streamId;
}
