// What is asked of a tree, as messages: the same for the reader thread and for whoever reads in its own thread.

import type { DatabaseSync } from 'node:sqlite';
import type { Classification, EventId, TenantId } from '@tallystick/contract';
import type { Tile } from '@tallystick/evidence';
import type { LogTree, StoredCheckpoint, StoredEvidence, TreeReader } from '../../streams/tree.ts';
import { EvidenceTables } from './evidence-tables.ts';
import { type LogPlace, TreeTables } from './tree-tables.ts';

export type TreeRead =
  | { readonly verb: 'Log'; readonly tenant: TenantId; readonly index: number | undefined }
  | {
      readonly verb: 'Evidence';
      readonly tenant: TenantId;
      readonly eventId: EventId;
      readonly visible: readonly Classification[];
    }
  | {
      readonly verb: 'EvidenceRange';
      readonly tenant: TenantId;
      readonly fromIndex: number;
      readonly endIndex: number;
      readonly limit: number;
    }
  | { readonly verb: 'NextLog'; readonly tenant: TenantId | undefined; readonly index: number }
  | { readonly verb: 'Latest'; readonly log: LogPlace }
  | { readonly verb: 'Checkpoint'; readonly log: LogPlace; readonly size: number }
  | { readonly verb: 'Tile'; readonly log: LogPlace; readonly tile: Tile }
  | { readonly verb: 'Root'; readonly log: LogPlace; readonly size: number }
  | { readonly verb: 'Inclusion'; readonly log: LogPlace; readonly index: number; readonly size: number }
  | { readonly verb: 'Consistency'; readonly log: LogPlace; readonly from: number; readonly to: number };

export interface TreeReads {
  readonly trees: TreeTables;
  readonly evidence: EvidenceTables;
}

export function treeReads(db: DatabaseSync, logOrigin: string): TreeReads {
  return { trees: new TreeTables(db, logOrigin), evidence: new EvidenceTables(db) };
}

export function readTree({ trees: tables, evidence }: TreeReads, read: TreeRead): unknown {
  switch (read.verb) {
    case 'Evidence':
      return evidence.one(read.tenant, read.eventId, read.visible);
    case 'EvidenceRange':
      return evidence.range(read.tenant, read.fromIndex, read.endIndex, read.limit);
    case 'Log':
      return tables.log(read.tenant, read.index);
    case 'NextLog':
      return tables.nextLog(read.tenant, read.index);
    case 'Latest':
      return tables.latest(read.log);
    case 'Checkpoint':
      return tables.checkpoint(read.log, read.size);
    case 'Tile':
      return tables.tile(read.log, read.tile);
    case 'Root':
      return tables.root(read.log, read.size);
    case 'Inclusion':
      return tables.inclusion(read.log, read.index, read.size);
    case 'Consistency':
      return tables.consistency(read.log, read.from, read.to);
  }
}

/** `ask` answers what `readTree` gives, so these casts only repeat its types. */
export function treeReader(ask: (read: TreeRead) => Promise<unknown>): Omit<TreeReader, 'checkRange'> {
  return {
    async tree(tenant, index) {
      const log = (await ask({ verb: 'Log', tenant, index })) as LogPlace | undefined;
      return log === undefined ? undefined : treeOf(log, ask);
    },
    nextLog: async (tenant, index) =>
      (await ask({ verb: 'NextLog', tenant, index })) as { tenant: TenantId; endIndex: number } | undefined,
    evidence: async (tenant, eventId, visible) =>
      (await ask({ verb: 'Evidence', tenant, eventId, visible })) as StoredEvidence | undefined,
    evidenceRange: async (tenant, fromIndex, endIndex, limit) =>
      (await ask({ verb: 'EvidenceRange', tenant, fromIndex, endIndex, limit })) as StoredEvidence[],
  };
}

function treeOf(log: LogPlace, ask: (read: TreeRead) => Promise<unknown>): LogTree {
  return {
    origin: log.origin,
    epoch: log.epoch,
    firstIndex: log.firstIndex,
    latest: async () => (await ask({ verb: 'Latest', log })) as StoredCheckpoint | undefined,
    checkpoint: async (size) =>
      (await ask({ verb: 'Checkpoint', log, size })) as StoredCheckpoint | undefined,
    tile: async (tile) => (await ask({ verb: 'Tile', log, tile })) as Uint8Array | undefined,
    root: async (size) => (await ask({ verb: 'Root', log, size })) as Uint8Array,
    inclusion: async (index, size) => (await ask({ verb: 'Inclusion', log, index, size })) as Uint8Array[],
    consistency: async (from, to) => (await ask({ verb: 'Consistency', log, from, to })) as Uint8Array[],
  };
}
