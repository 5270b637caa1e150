// The export thread: makes the pieces of exports. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { Shaper } from '../exports/shaping.ts';
import { ownBuffers, serveThread } from '../runtime/thread.ts';
import { yieldToOthers } from '../runtime/yield-to-others.ts';
import type { LogPlace } from '../storage/storage.ts';
import type { PostgresLogPlace } from '../storage/postgres/log/read-elsewhere.ts';
import { openLogForReading, type SqliteLogPlace } from '../storage/sqlite/log/read-elsewhere.ts';
import type { ShapeMessage } from './shaping.ts';

const { of, data } = workerData as LogPlace;

/** The other backend is loaded on demand: most installations have no database. */
const opened =
  of === 'SQLite'
    ? openLogForReading(data as SqliteLogPlace)
    : (await import('../storage/postgres/log/read-elsewhere.ts')).openLogForReading(data as PostgresLogPlace);

yieldToOthers();

const shaper = new Shaper(opened.log, opened.trees);

serveThread<ShapeMessage>({
  async answer(asked) {
    const piece = await shaper.shape(...asked);
    return { value: piece, handOver: ownBuffers(piece.bytes) };
  },
  async stop() {
    await opened[Symbol.asyncDispose]();
  },
});
