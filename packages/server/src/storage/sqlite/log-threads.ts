// The log of the service, main's side: appends go to the writer thread as one buffer that changes hands and comes
// back with the results in it, to be used again; those of large pools by way of the commitments thread. Reads go to
// the reader thread.

import { MessageChannel } from 'node:worker_threads';
import type { AppendRequest, LogReader, LogWriter, StoredEvent, UsedKey } from '../../streams/log.ts';
import type { AccessWrite } from './access.ts';
import { encodePool } from './append-message.ts';
import { decodeResults } from './append-results.ts';
import type { CommitmentsData, CommitmentsMessage } from './commitments-thread.ts';
import type { ReaderData, ReaderMessage } from './reader-thread.ts';
import { startThread, type ThreadHandle } from './thread.ts';
import type { WriterData, WriterMessage } from './writer-thread.ts';

/** The log and the writing side of access, wherever they run. */
export interface SqliteLog extends AsyncDisposable {
  /** Settles when it can be used, or cannot. */
  readonly opened: Promise<unknown>;
  readonly log: LogWriter & LogReader;
  writeAccess(change: AccessWrite): Promise<boolean>;
}

export interface LogThreadsOptions {
  readonly directory: string;
  readonly logOrigin: string;
  readonly onCrash: (error: Error) => void;
}

/** A buffer that only an uncommonly large pool needed is not kept, nor more of them than are commonly under way. */
const ROOM_BYTES_MAX = 8 * 1024 * 1024;
const ROOMS_MAX = 2;
const LARGE_POOL_DRAFTS = 128;

export function startLogThreads({ directory, logOrigin, onCrash }: LogThreadsOptions): SqliteLog {
  const between = new MessageChannel();
  const writerData: WriterData = { directory, logOrigin, fromCommitments: between.port1 };
  const commitmentsData: CommitmentsData = { toWriter: between.port2 };
  const readerData: ReaderData = { directory };
  const writer = startThread<WriterMessage>('writer-thread', writerData, onCrash, [between.port1]);
  const commitments = startThread<CommitmentsMessage>('commitments-thread', commitmentsData, onCrash, [
    between.port2,
  ]);
  const reader = startThread<ReaderMessage>('reader-thread', readerData, onCrash);
  const rooms: ArrayBuffer[] = [];
  return {
    opened: Promise.all([writer.opened, commitments.opened, reader.opened]),
    log: {
      async append(requests, now) {
        const pool = encodePool(requests, now, rooms.pop());
        const answer = isLarge(requests)
          ? await commitments.ask({ pool }, [pool], writer)
          : await writer.ask({ verb: 'Append', pool }, [pool]);
        if (!(answer instanceof ArrayBuffer)) throw new Error('the writer answered something else');
        const results = decodeResults(answer, requests);
        if (answer.byteLength <= ROOM_BYTES_MAX && rooms.length < ROOMS_MAX) rooms.push(answer);
        return results;
      },
      sweepUsedKeys: async (steadyNowMs) =>
        (await writer.ask({ verb: 'SweepUsedKeys', steadyNowMs })) === true,
      probe: async () => void (await writer.ask({ verb: 'Probe' })),
      ...readsThrough(reader),
    },
    writeAccess: async (change) => (await writer.ask({ verb: 'Access', change })) === true,
    async [Symbol.asyncDispose]() {
      // Whoever closes last folds the write-ahead log and removes it, if it may write.
      await reader[Symbol.asyncDispose]();
      await commitments[Symbol.asyncDispose]();
      await writer[Symbol.asyncDispose]();
    },
  };
}

/** Worth another thread: the way there and back costs as much as some ten drafts. */
function isLarge(requests: readonly AppendRequest[]): boolean {
  let drafts = 0;
  for (const request of requests) drafts += request.drafts.length;
  return drafts >= LARGE_POOL_DRAFTS;
}

// The reader answers what LogTables gave it, so these casts only repeat its types.
function readsThrough(reader: ThreadHandle<ReaderMessage>): LogReader {
  return {
    forTenant: (tenant) => ({
      event: async (eventId, visible) =>
        (await reader.ask({ verb: 'Event', tenant, eventId, visible })) as StoredEvent | undefined,
      usedKey: async (operation, key, steadyNowMs) =>
        (await reader.ask({ verb: 'UsedKey', tenant, operation, key, steadyNowMs })) as UsedKey | undefined,
    }),
  };
}
