// The tree on PostgreSQL: the port, composed of the parts that read logs back, store checkpoints, and prove.

import type { TenantId } from '@tallystick/contract';
import { proveConsistency, proveInclusion, subtreeHashes, treeRoot } from '@tallystick/evidence';
import { callsFor, type OfAny } from '../../../runtime/calls.ts';
import type { LogTree, TenantTrees, TreeReader, TreeWriter } from '../../../streams/tree.ts';
import { runAsync } from '../../resumable.ts';
import { WalkResources } from '../../fsck/entries.ts';
import { trustedOf } from '../../fsck/notes.ts';
import { OF_EACH, provenContents } from '../../fsck/proven-contents.ts';
import { checkRange } from '../../fsck/range.ts';
import { recordNotices } from '../../fsck/record-notices.ts';
import { headOf, type LogIdentity, ofLog } from '../../rows/log-identity.ts';
import type { SealedRows } from '../../sealing/sealed-rows.ts';
import { ALL_TENANTS, type Database, statement } from '../connection/database.ts';
import { EvidenceTables } from '../log/evidence-tables.ts';
import { HeldShares } from '../nodes/held-shares.ts';
import { rangeStore } from '../log/ranges.ts';
import { TreeGrowth } from './tree-growth.ts';
import { proveEvent, proveGrowth } from './tree-proofs.ts';
import { TreePublisher } from './tree-publisher.ts';
import { readerOf, singleStatements, TreeTables } from './tree-tables.ts';

/**
 * An almost empty write whose commit is waited for like that of an event: once it is durable, so is everything
 * committed before, also on a synchronous standby. With distributed tables, that does not cover other machines.
 */
const MARK = statement(`SELECT pg_logical_emit_message(true, 'tallystick', '')`);

/** Readers have their own connections: signing does not wait, however many proofs are made. */
export function createTree(
  database: Database,
  logOrigin: string,
  reading: Database = database,
  held: HeldShares = HeldShares.all(),
  sealed?: SealedRows,
): TreeWriter & TreeReader {
  return { ...treeWriter(database, logOrigin, held), ...treeReader(reading, logOrigin, sealed) };
}

function treeWriter(database: Database, logOrigin: string, held: HeldShares): TreeWriter {
  const growth = new TreeGrowth(database, logOrigin, held);
  const publisher = new TreePublisher(database);
  return {
    standings: () => growth.standings(),
    stopAt: (tenant, size) => growth.stopAt(tenant, size),
    confirm: () =>
      database.inTransaction(ALL_TENANTS, async (transaction) => void (await transaction.query(MARK))),
    readGrowth: () => growth.read(),
    async publish(logs, nowMs) {
      const states = await publisher.publish(logs, nowMs, growth.leased(logs));
      await growth.published(states);
      const lost = new Set(states.filter(({ isLost }) => isLost).map(({ tenant }) => tenant));
      return logs.filter(({ tenant }) => !lost.has(tenant));
    },
    newestSizes: (tenants) => growth.newestSizes(tenants),
    cosign: (checkpoints) => publisher.cosign(checkpoints),
  };
}

/** For those who only read. */
export function treeReader(
  database: Database,
  logOrigin: string,
  sealed: SealedRows | undefined,
): TreeReader {
  const trees = new TreeTables(logOrigin);
  const evidence = new EvidenceTables(sealed);
  const tables = { database, trees, evidence };
  const ofEach = new WalkResources(OF_EACH);
  const statementsFor = (tenant: TenantId) => singleStatements(database, readerOf(tenant));
  const signedLog = (tenant: TenantId, index: number | undefined) =>
    trees.signedLog(statementsFor(tenant), tenant, index);
  const ofAny: OfAny<TenantTrees, TenantId> = {
    checkRange: (tenant, request, onProgress) =>
      runAsync(
        checkRange(rangeStore(database, trees, tenant, sealed), { ...request, tenant }, trustedOf(request)),
        onProgress,
      ),
    provenContents: (tenant, request) =>
      runAsync(provenContents(rangeStore(database, trees, tenant, sealed), request, ofEach)),
    recordNotices: (tenant, request) =>
      runAsync(recordNotices(rangeStore(database, trees, tenant, sealed), request, ofEach)),
    proveEvent: (tenant, request) => proveEvent(tables, tenant, request),
    proveGrowth: (tenant, from, to) => proveGrowth(tables, tenant, from, to),
    cosigned: (tenant, below, limit) => trees.cosigned(statementsFor(tenant), tenant, below, limit),
    evidenceRange: (tenant, fromIndex, endIndex, limit) =>
      evidence.range(statementsFor(tenant), tenant, fromIndex, endIndex, limit),
    async tree(tenant, index) {
      const found = await signedLog(tenant, index);
      return found && treeOf(database, trees, found.log);
    },
    async head(tenant, index) {
      const found = await signedLog(tenant, index);
      return found && headOf(found.log, found.latest);
    },
  };
  return {
    nextLog: (tenant, index) => trees.nextLog(database, tenant, index),
    forTenant: (tenant) => callsFor(tenant, ofAny),
  };
}

function treeOf(database: Database, trees: TreeTables, log: LogIdentity): LogTree {
  const { origin, epoch, firstIndex, tenant } = log;
  const statements = singleStatements(database, readerOf(tenant));
  return {
    origin,
    epoch,
    firstIndex,
    latest: async () => ofLog(log, await trees.latest(statements, log)),
    checkpoint: async (size) => ofLog(log, await trees.checkpoint(statements, log, size)),
    tile: (tile) => trees.tile(statements, log, tile),
    entries: async (index, count) =>
      (await trees.entries(statements, log, index, count)).map(({ entry }) => entry),
    root: (size) => trees.made(statements, log, size, (read) => treeRoot(size, read)),
    inclusion: (index, size) =>
      trees.made(statements, log, size, (read) => proveInclusion(index, size, read)),
    consistency: (from, to) => trees.made(statements, log, to, (read) => proveConsistency(from, to, read)),
    subtrees: (ranges) =>
      trees.made(statements, log, ranges.at(-1)?.[1] ?? 0, (read) =>
        ranges.flatMap(([begin, end]) => subtreeHashes({ begin, end }, read)),
      ),
  };
}
