// The log of the service, main's side: appends go to the writer thread, those of large pools by way of the commitments
// thread. Reads go to the reader thread.

import { MessageChannel } from 'node:worker_threads';
import type { Growth, Standing, TreeReader, TreeWriter } from '../../streams/tree.ts';
import type {
  AppendRequest,
  LogReader,
  LogWriter,
  StoredEvent,
  StoredStream,
  StreamLimits,
  UsedKey,
} from '../../streams/log.ts';
import type { AccessWrite } from './access.ts';
import { writesThrough } from '../pool/writer-messages.ts';
import type { CommitmentsData, CommitmentsMessage } from './commitments-thread.ts';
import { RangeThread } from './ranges.ts';
import type { ReaderData, ReaderMessage } from './reader-thread.ts';
import { type ThreadHandle, threadsBeside } from '../../runtime/thread.ts';
import { publishedSizes } from './tree-growth.ts';
import { treeReader } from './tree-reads.ts';
import type { TreeData, TreeMessage } from './tree-thread.ts';
import type { WriterData, WriterMessage } from './writer-thread.ts';

const startThread = threadsBeside(import.meta.url);

/** The log and the writing side of access, wherever they run. */
export interface SqliteLog extends AsyncDisposable {
  /** Settles when it can be used, or cannot. */
  readonly opened: Promise<unknown>;
  readonly log: LogWriter & LogReader;
  readonly tree: TreeWriter & TreeReader;
  writeAccess(change: AccessWrite): Promise<boolean>;
}

export interface LogThreadsOptions {
  readonly directory: string;
  readonly logOrigin: string;
  readonly streams: StreamLimits;
  readonly onCrash: (error: Error) => void;
}

const LARGE_POOL_DRAFTS = 128;

export function startLogThreads({ directory, logOrigin, streams, onCrash }: LogThreadsOptions): SqliteLog {
  const between = new MessageChannel();
  const writerData: WriterData = { directory, logOrigin, streams, fromCommitments: between.port1 };
  const commitmentsData: CommitmentsData = { toWriter: between.port2 };
  const readerData: ReaderData = { directory, logOrigin };
  const treeData: TreeData = { directory, logOrigin };
  const writer = startThread<WriterMessage>('writer-thread', writerData, onCrash, [between.port1]);
  let commitments: ThreadHandle<CommitmentsMessage> | undefined;
  // With the first large pool: many a service never gets one.
  const startedCommitments = () =>
    (commitments ??= startThread<CommitmentsMessage>('commitments-thread', commitmentsData, onCrash, [
      between.port2,
    ]));
  const reader = startThread<ReaderMessage>('reader-thread', readerData, onCrash);
  const growth = startThread<TreeMessage>('tree-thread', treeData, onCrash);
  const ranges = new RangeThread(treeData, onCrash);
  return {
    opened: Promise.all([writer.opened, reader.opened, growth.opened]),
    log: {
      ...writesThrough(writer, (pool, requests) =>
        isLarge(requests)
          ? startedCommitments().ask({ pool }, [pool], writer)
          : writer.ask({ verb: 'Append', pool }, [pool]),
      ),
      ...readsThrough(reader),
    },
    tree: {
      ...growthThrough(growth, writer),
      checkRange: (wish, onProgress) => ranges.check(wish, onProgress),
      ...treeReader((read) => reader.ask({ verb: 'Tree', read })),
    },
    writeAccess: async (change) => (await writer.ask({ verb: 'Access', change })) === true,
    async [Symbol.asyncDispose]() {
      // Whoever closes last folds the write-ahead log and removes it, if it may write.
      await ranges[Symbol.asyncDispose]();
      await growth[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
      await commitments?.[Symbol.asyncDispose]();
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

// The threads answer what TreeGrowth and TreePublisher gave them, so these casts only repeat their types.
function growthThrough(growth: ThreadHandle<TreeMessage>, writer: ThreadHandle<WriterMessage>): TreeWriter {
  return {
    standings: async () => (await growth.ask({ verb: 'Standings' })) as Standing[],
    stopAt: async (tenant, size) => void (await growth.ask({ verb: 'StopAt', tenant, size })),
    // What can be read is on the disk.
    confirm: async () => {},
    readGrowth: async () => (await growth.ask({ verb: 'Read' })) as Growth,
    async publish(logs, nowMs) {
      await writer.ask({ verb: 'Publish', logs, nowMs });
      await growth.ask({ verb: 'Published', sizes: publishedSizes(logs) });
      return logs;
    },
    newestSizes: async () => new Map(),
    cosign: async (checkpoints) => (await writer.ask({ verb: 'Cosign', checkpoints })) as boolean[],
  };
}

// The reader answers what LogTables gave it, so these casts only repeat its types.
function readsThrough(reader: ThreadHandle<ReaderMessage>): LogReader {
  return {
    forTenant: (tenant) => ({
      event: async (eventId, visible) =>
        (await reader.ask({ verb: 'Event', tenant, eventId, visible })) as StoredEvent | undefined,
      events: async (fromIndex, endIndex, limit, way) =>
        (await reader.ask({ verb: 'Events', tenant, fromIndex, endIndex, limit, way })) as StoredEvent[],
      streams: async (beyond, limit) =>
        (await reader.ask({ verb: 'Streams', tenant, beyond, limit })) as StoredStream[],
      stream: async (streamId) =>
        (await reader.ask({ verb: 'Stream', tenant, streamId })) as StoredStream | undefined,
      streamCount: async () => (await reader.ask({ verb: 'StreamCount', tenant })) as number,
      usedKey: async (operation, key, steadyNowMs) =>
        (await reader.ask({ verb: 'UsedKey', tenant, operation, key, steadyNowMs })) as UsedKey | undefined,
    }),
  };
}
