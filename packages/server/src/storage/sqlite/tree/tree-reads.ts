// Reads of trees, for any reading thread: each method runs there, with a log by its identity.

import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { type IndexRange, type Tile, TileMemory } from '@tallystick/evidence';
import type { Calls } from '../../../runtime/calls.ts';
import type {
  AlteredEvent,
  CosignedPortion,
  LogHead,
  LogSize,
  LogTree,
  ProofRequest,
  ProvenEvent,
  ProvenGrowth,
  StoredCheckpoint,
  StoredEvidence,
} from '../../../streams/tree.ts';
import { ofLog } from '../../rows/log-identity.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import { EvidenceTables } from '../log/evidence-tables.ts';
import { proveEvent, proveGrowth } from './tree-proofs.ts';
import { type LogIdentity, TreeTables } from './tree-tables.ts';

/** 4 MB: the tiles that all proofs of some logs share, and those of neighbouring events. */
const TILES_REMEMBERED_MAX = 256;

export class TreeReads {
  readonly db: DatabaseSync;
  readonly trees: TreeTables;
  readonly evidence: EvidenceTables;

  constructor(db: DatabaseSync, logOrigin: string, sealed?: SealedRows) {
    this.db = db;
    this.trees = new TreeTables(db, logOrigin, new TileMemory(TILES_REMEMBERED_MAX));
    this.evidence = new EvidenceTables(db, sealed);
  }

  log(tenant: TenantId, index?: number): LogIdentity | undefined {
    return this.trees.log(tenant, index);
  }

  nextLog(tenant: TenantId | undefined, index: number): { tenant: TenantId; endIndex: number } | undefined {
    return this.trees.nextLog(tenant, index);
  }

  head(tenant: TenantId, index?: number): LogHead | undefined {
    return this.trees.head(tenant, index);
  }

  proveEvent(tenant: TenantId, request: ProofRequest): ProvenEvent | AlteredEvent | undefined {
    return proveEvent(this, tenant, request);
  }

  proveGrowth(tenant: TenantId, from: number, to: number | undefined): ProvenGrowth | undefined {
    return proveGrowth(this, tenant, from, to);
  }

  cosigned(tenant: TenantId, below: LogSize, limit: number): CosignedPortion {
    return this.trees.cosigned(tenant, below, limit);
  }

  evidenceRange(tenant: TenantId, fromIndex: number, endIndex: number, limit: number): StoredEvidence[] {
    return this.evidence.range(tenant, fromIndex, endIndex, limit);
  }

  latest(log: LogIdentity): StoredCheckpoint | undefined {
    return ofLog(log, this.trees.latest(log));
  }

  checkpoint(log: LogIdentity, size: number): StoredCheckpoint | undefined {
    return ofLog(log, this.trees.checkpoint(log, size));
  }

  tile(log: LogIdentity, tile: Tile): Uint8Array | undefined {
    return this.trees.tile(log, tile);
  }

  entries(log: LogIdentity, index: number, count: number): Uint8Array[] {
    return this.trees.entries(log, index, count).map(({ entry }) => entry);
  }

  root(log: LogIdentity, size: number): Uint8Array {
    return this.trees.root(log, size);
  }

  inclusion(log: LogIdentity, index: number, size: number): Uint8Array[] {
    return this.trees.inclusion(log, index, size);
  }

  consistency(log: LogIdentity, from: number, to: number): Uint8Array[] {
    return this.trees.consistency(log, from, to);
  }

  subtrees(log: LogIdentity, ranges: readonly IndexRange[]): Uint8Array[] {
    return this.trees.subtrees(log, ranges);
  }
}

/** The tree of a log, found by the tenant and an index in it. */
export function findingTrees(reads: Calls<TreeReads>) {
  return async (tenant: TenantId, index?: number): Promise<LogTree | undefined> => {
    const log = await reads.log(tenant, index);
    return log === undefined ? undefined : treeOf(log, reads);
  };
}

function treeOf(log: LogIdentity, reads: Calls<TreeReads>): LogTree {
  return {
    origin: log.origin,
    epoch: log.epoch,
    firstIndex: log.firstIndex,
    latest: () => reads.latest(log),
    checkpoint: (size) => reads.checkpoint(log, size),
    tile: (tile) => reads.tile(log, tile),
    entries: (index, count) => reads.entries(log, index, count),
    root: (size) => reads.root(log, size),
    inclusion: (index, size) => reads.inclusion(log, index, size),
    consistency: (from, to) => reads.consistency(log, from, to),
    subtrees: (ranges) => reads.subtrees(log, ranges),
  };
}
