// The tree without threads, for the command line: the same classes over one connection that reads.

import type { DatabaseSync } from 'node:sqlite';
import type {
  CosignedCheckpoint,
  PublishedLog,
  TreeReader,
  TreeWriter,
  RangeVerdict,
  RangeWish,
} from '../../streams/tree.ts';
import { trustedOf } from '../fsck/notes.ts';
import { checkRange } from './fsck/range.ts';
import { publishedSizes, TreeGrowth } from './tree-growth.ts';
import { readTree, treeReader, treeReads } from './tree-reads.ts';

/** Whoever holds the connection that writes. */
interface Publisher {
  publish(logs: readonly PublishedLog[], nowMs: number): void;
  cosign(checkpoints: readonly CosignedCheckpoint[]): boolean[];
}

export function treeInProcess(
  reading: DatabaseSync,
  publisher: Publisher,
  logOrigin: string,
): TreeWriter & TreeReader {
  const growth = new TreeGrowth(reading, logOrigin);
  const reads = treeReads(reading, logOrigin);
  return {
    standings: async () => growth.standings(),
    stopAt: async (tenant, size) => growth.stopAt(tenant, size),
    confirm: async () => {},
    readGrowth: async () => growth.read(),
    async publish(logs, nowMs) {
      publisher.publish(logs, nowMs);
      growth.published(publishedSizes(logs));
      return logs;
    },
    newestSizes: async () => new Map(),
    cosign: async (checkpoints) => publisher.cosign(checkpoints),
    checkRange: (wish, onProgress) => checkInSteps(reading, logOrigin, wish, onProgress),
    ...treeReader(async (read) => readTree(reads, read)),
  };
}

async function checkInSteps(
  reading: DatabaseSync,
  logOrigin: string,
  wish: RangeWish,
  onProgress: (checkedEvents: number) => void,
): Promise<RangeVerdict> {
  const steps = checkRange(reading, logOrigin, wish, trustedOf(wish));
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    onProgress(step.value);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
