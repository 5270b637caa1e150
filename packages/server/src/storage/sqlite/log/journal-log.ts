// The log and its trees as ports over a journal; writer, reader and checks may be in other threads.

import type { TenantId } from '@tallystick/contract';
import { type Calls, callsFor, type OfAny } from '../../../runtime/calls.ts';
import type { LogReader, LogWriter } from '../../../streams/log.ts';
import type { TenantTrees, TreeReader, TreeWriter } from '../../../streams/tree.ts';
import type { JournalOwner } from '../append/journal-owner.ts';
import type { LogTables } from './log-tables.ts';
import type { RangeReads } from './ranges.ts';
import { publishedSizes, type TreeGrowth } from '../tree/tree-growth.ts';
import { findingTrees, type TreeReads } from '../tree/tree-reads.ts';

type TreesOfAny = OfAny<TenantTrees, TenantId>;

export interface JournalParts {
  readonly owner: Calls<JournalOwner>;
  readonly append: LogWriter['append'];
  readonly log: Calls<LogTables>;
  readonly trees: Calls<TreeReads>;
  readonly growth: Calls<TreeGrowth>;
  readonly ranges: RangeReads;
}

export function logOf({ owner, append, log }: JournalParts): LogWriter & LogReader {
  const { seal, beginEpoch, sealAged, sweepUsedKeys, endKeyWindows, probe } = owner;
  return {
    append,
    seal,
    beginEpoch,
    sealAged,
    sweepUsedKeys,
    endKeyWindows,
    probe,
    forTenant: (tenant) => callsFor(tenant, log),
  };
}

export function treeOn({ owner, trees, growth, ranges }: JournalParts): TreeWriter & TreeReader {
  const { head, proveEvent, proveGrowth, cosigned, evidenceRange } = trees;
  const ofAny: TreesOfAny = {
    ...ranges,
    tree: findingTrees(trees),
    head,
    proveEvent,
    proveGrowth,
    cosigned,
    evidenceRange,
  };
  return {
    standings: growth.standings,
    stopAt: growth.stopAt,
    // Everything that can be read is on the disk.
    confirm: async () => {},
    readGrowth: growth.read,
    async publish(logs, nowMs) {
      await owner.publish(logs, nowMs);
      await growth.published(publishedSizes(logs));
      return logs;
    },
    newestSizes: async () => new Map(),
    cosign: owner.cosign,
    nextLog: trees.nextLog,
    forTenant: (tenant) => callsFor(tenant, ofAny),
  };
}
