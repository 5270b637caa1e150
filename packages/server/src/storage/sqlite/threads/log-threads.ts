// The log of the service, with threads for writing, reading and checking. Large pools reach the writer through the
// commitments thread.

import { MessageChannel } from 'node:worker_threads';
import { type CallMessage, type Calls, callsTo } from '../../../runtime/calls.ts';
import { type ThreadHandle, threadsBeside } from '../../../runtime/thread.ts';
import type { AppendRequest, StreamLimits } from '../../../streams/log.ts';
import { appendsBy } from '../../pool/send-pools.ts';
import type { CommitmentsData, CommitmentsMessage } from './commitments-thread.ts';
import type { JournalParts } from '../log/journal-log.ts';
import type { JournalOwner } from '../append/journal-owner.ts';
import type { SealingData } from '../../sealing/sealing.ts';
import { type RangeChecks, rangesBy } from '../log/ranges.ts';
import type { TreeData } from './tree-thread.ts';
import type { WriterData } from './writer-thread.ts';

const startThread = threadsBeside(import.meta.url);

/** A journal that is open, or is being opened. */
export interface OpenJournal extends JournalParts, AsyncDisposable {
  /** Settles when it can be used, or cannot. */
  readonly opened: Promise<unknown>;
}

export interface LogThreadsOptions {
  readonly directory: string;
  readonly logOrigin: string;
  readonly streams: StreamLimits;
  readonly sealing: SealingData;
  readonly onCrash: (error: Error) => void;
}

const LARGE_POOL_DRAFTS = 128;

export function startLogThreads({
  directory,
  logOrigin,
  streams,
  sealing,
  onCrash,
}: LogThreadsOptions): OpenJournal {
  const between = new MessageChannel();
  const writerData: WriterData = { directory, logOrigin, streams, sealing, fromCommitments: between.port1 };
  const commitmentsData: CommitmentsData = { toWriter: between.port2, sealed: sealing.sealed };
  const readingData: TreeData = { directory, logOrigin, sealing };
  const writer = startThread<CallMessage>('writer-thread', writerData, onCrash, [between.port1]);
  let commitments: ThreadHandle<CommitmentsMessage> | undefined;
  // Started with the first large pool: many services never get one.
  const startedCommitments = () =>
    (commitments ??= startThread<CommitmentsMessage>('commitments-thread', commitmentsData, onCrash, [
      between.port2,
    ]));
  const reader = startThread<CallMessage>('reader-thread', readingData, onCrash);
  const growth = startThread<CallMessage>('tree-thread', readingData, onCrash);
  const ranges = new RangeThread(readingData, onCrash);
  const owner = callsTo<JournalOwner>(writer, 'owner');
  return {
    opened: Promise.all([writer.opened, reader.opened, growth.opened]),
    owner,
    append: appendsBy((pool, requests) =>
      isLarge(requests)
        ? // The writer answers in its place.
          (startedCommitments().ask({ pool }, [pool], writer) as Promise<ArrayBuffer>)
        : owner.append(pool),
    ),
    log: callsTo(reader, 'log'),
    trees: callsTo(reader, 'trees'),
    growth: callsTo(growth, 'growth'),
    ranges: rangesBy(() => ranges.started()),
    async [Symbol.asyncDispose]() {
      // The last connection to close folds and removes the write-ahead log, if it may write.
      await ranges[Symbol.asyncDispose]();
      await growth[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
      await commitments?.[Symbol.asyncDispose]();
      await writer[Symbol.asyncDispose]();
    },
  };
}

/** Large enough for another thread: the transfer costs as much as about ten drafts. */
function isLarge(requests: readonly AppendRequest[]): boolean {
  let drafts = 0;
  for (const request of requests) drafts += request.drafts.length;
  return drafts >= LARGE_POOL_DRAFTS;
}

/** Started for the first range, and kept. */
class RangeThread implements AsyncDisposable {
  readonly #data: TreeData;
  readonly #onCrash: (error: Error) => void;
  #thread: ThreadHandle<CallMessage> | undefined;

  constructor(data: TreeData, onCrash: (error: Error) => void) {
    this.#data = data;
    this.#onCrash = onCrash;
  }

  /** A thread that could not open is not kept: the next range tries again. */
  async started(): Promise<Calls<RangeChecks>> {
    const thread = (this.#thread ??= startThread<CallMessage>('range-thread', this.#data, this.#onCrash));
    try {
      await thread.opened;
      return callsTo<RangeChecks>(thread, 'ranges');
    } catch (error) {
      if (this.#thread === thread) this.#thread = undefined;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.[Symbol.asyncDispose]();
  }
}
