// What is asked of a tree, as messages: the same for the reader thread and for whoever reads in its own thread.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { type Tile, TileMemory } from '@tallystick/evidence';
import type {
  AlteredEvent,
  CosignedPortion,
  LogHead,
  LogSize,
  LogTree,
  ProofWish,
  ProvenEvent,
  ProvenGrowth,
  StoredCheckpoint,
  StoredEvidence,
  TreeReader,
} from '../../streams/tree.ts';
import { ofLog } from '../rows/log-place.ts';
import { EvidenceTables } from './evidence-tables.ts';
import { proveEvent, proveGrowth } from './tree-proofs.ts';
import { type LogPlace, TreeTables } from './tree-tables.ts';

export type TreeRead =
  | { readonly verb: 'Log' | 'Head'; readonly tenant: TenantId; readonly index: number | undefined }
  | { readonly verb: 'ProveEvent'; readonly tenant: TenantId; readonly wish: ProofWish }
  | {
      readonly verb: 'ProveGrowth';
      readonly tenant: TenantId;
      readonly from: number;
      readonly to: number | undefined;
    }
  | {
      readonly verb: 'Cosigned';
      readonly tenant: TenantId;
      readonly below: LogSize;
      readonly limit: number;
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
  | { readonly verb: 'Entries'; readonly log: LogPlace; readonly index: number; readonly count: number }
  | { readonly verb: 'Root'; readonly log: LogPlace; readonly size: number }
  | { readonly verb: 'Inclusion'; readonly log: LogPlace; readonly index: number; readonly size: number }
  | { readonly verb: 'Consistency'; readonly log: LogPlace; readonly from: number; readonly to: number };

export interface TreeReads {
  readonly db: DatabaseSync;
  readonly trees: TreeTables;
  readonly evidence: EvidenceTables;
}

/** 4 MB: the tiles that all proofs of some logs share, and those of events that are near each other. */
const TILES_REMEMBERED_MAX = 256;

export function treeReads(db: DatabaseSync, logOrigin: string): TreeReads {
  const trees = new TreeTables(db, logOrigin, new TileMemory(TILES_REMEMBERED_MAX));
  return { db, trees, evidence: new EvidenceTables(db) };
}

export function readTree(reads: TreeReads, read: TreeRead): unknown {
  const { trees: tables, evidence } = reads;
  switch (read.verb) {
    case 'ProveEvent':
      return proveEvent(reads, read.tenant, read.wish);
    case 'ProveGrowth':
      return proveGrowth(reads, read.tenant, read.from, read.to);
    case 'Cosigned':
      return tables.cosigned(read.tenant, read.below, read.limit);
    case 'Head':
      return tables.head(read.tenant, read.index);
    case 'EvidenceRange':
      return evidence.range(read.tenant, read.fromIndex, read.endIndex, read.limit);
    case 'Log':
      return tables.log(read.tenant, read.index);
    case 'NextLog':
      return tables.nextLog(read.tenant, read.index);
    case 'Latest':
      return ofLog(read.log, tables.latest(read.log));
    case 'Checkpoint':
      return ofLog(read.log, tables.checkpoint(read.log, read.size));
    case 'Tile':
      return tables.tile(read.log, read.tile);
    case 'Entries':
      return tables.entries(read.log, read.index, read.count).map(({ entry }) => entry);
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
    head: async (tenant, index) => (await ask({ verb: 'Head', tenant, index })) as LogHead | undefined,
    proveEvent: async (tenant, wish) =>
      (await ask({ verb: 'ProveEvent', tenant, wish })) as ProvenEvent | AlteredEvent | undefined,
    proveGrowth: async (tenant, from, to) =>
      (await ask({ verb: 'ProveGrowth', tenant, from, to })) as ProvenGrowth | undefined,
    cosigned: async (tenant, below, limit) =>
      (await ask({ verb: 'Cosigned', tenant, below, limit })) as CosignedPortion,
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
    entries: async (index, count) => (await ask({ verb: 'Entries', log, index, count })) as Uint8Array[],
    root: async (size) => (await ask({ verb: 'Root', log, size })) as Uint8Array,
    inclusion: async (index, size) => (await ask({ verb: 'Inclusion', log, index, size })) as Uint8Array[],
    consistency: async (from, to) => (await ask({ verb: 'Consistency', log, from, to })) as Uint8Array[],
  };
}
