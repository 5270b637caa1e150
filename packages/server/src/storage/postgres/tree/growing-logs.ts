// What is read to make logs grow, for many of them by one statement: where logs end, how they are signed, the tree from
// which each goes on, and the entries behind it. Rows are found by the tenant's sequence, in which there are no gaps,
// whoever wrote them and whenever that was committed.

import type { TenantId } from '@tallystick/contract';
import {
  ENTRY_BYTES,
  equalBytes,
  EvidenceError,
  HASH_BYTES,
  proveConsistency,
  tilesRead,
  treeRoot,
  verifyConsistency,
} from '@tallystick/evidence';
import type { StoredCheckpoint, TreeHead } from '../../../streams/tree.ts';
import { ROW_BYTES, type TreeState } from '../../tree/growing-tree.ts';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import type { LogIdentity } from '../../rows/log-place.ts';
import { headIn, signedTree, subtreesAt, unsignedTree } from '../../tree/signed-tree.ts';
import { type Asked, ofTenants, rowForEach } from '../connection/by-tenant.ts';
import { type Database, PROJECTOR, type Row, statement } from '../connection/database.ts';
import {
  askedAlone,
  makeOf,
  newestLog,
  SIGNED_LOG_COLUMNS,
  type SignedLog,
  type LogTile,
  TreeTables,
} from './tree-tables.ts';

/** Where a log ends, in the tenant's sequence. */
export interface LogEnd {
  readonly tenant: TenantId;
  readonly endIndex: number;
  /** That it belongs to. */
  readonly share: number;
}

/** What is stored of the log that is written to now. */
export interface StoredLog {
  readonly tenant: TenantId;
  readonly share: number;
  /** Throws EvidenceError where its rows cannot be read. */
  signedLog(): SignedLog;
  /** Of the newest entry, in the tenant's sequence. */
  lastIndex(): number;
  /** The first entry of one that goes on after a restore. */
  firstEntry(): Uint8Array | undefined;
}

/** Rows of a log from an index of the tenant's sequence on, up to, not with, another. */
export interface EntryRange {
  readonly tenant: TenantId;
  readonly fromIndex: number;
  readonly endIndex: number;
}

const TENANTS_AT_ONCE = 1000;
/** Their tiles are some megabytes together. */
export const LOGS_AT_ONCE = 200;

// As one text: that costs a tenth of what so many rows do. No name of a tenant has a comma in it.
const ENDS = statement(
  `SELECT coalesce(string_agg(next_index || ' ' || share || ' ' || tenant_id, ','), '') AS ends FROM heads
   WHERE next_index > 0 AND ($1::smallint[] IS NULL OR share = ANY($1) OR tenant_id = ANY($2))`,
);
// Of the entries themselves, and not where the head says: what is compared with the anchor is what is there.
const STORED = statement(
  `SELECT ${SIGNED_LOG_COLUMNS}, heads.share,
     (SELECT max(leaf_index) FROM entries WHERE entries.tenant_id = heads.tenant_id) AS last_index,
     (SELECT entry FROM entries WHERE entries.tenant_id = heads.tenant_id AND leaf_index = log.first_index) AS first_entry
   FROM heads ${newestLog()} WHERE heads.tenant_id > $1 AND ($2::smallint[] IS NULL OR heads.share = ANY($2))
   ORDER BY heads.tenant_id LIMIT ${TENANTS_AT_ONCE}`,
);
const SIGNED = statement(
  `SELECT ${SIGNED_LOG_COLUMNS} FROM heads ${newestLog()} WHERE heads.tenant_id = ANY($1)`,
);
const LEAVES = statement(
  `SELECT request.tenant, leaf FROM unnest($1::text[], $2::bigint[]) AS request (tenant, place)
   JOIN entries ON entries.tenant_id = request.tenant AND entries.leaf_index = request.place`,
);
// Joined by the database: a row at a time costs more than the hashing.
const RUNS = ofTenants(
  3,
  (
    only,
  ) => `SELECT run.* FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS request (tenant, begin_at, end_at, number),
   LATERAL (SELECT count(*) AS count,
       count(*) FILTER (WHERE octet_length(entry) = ${ENTRY_BYTES} AND octet_length(leaf) = ${HASH_BYTES}) AS whole,
       string_agg(entry || leaf, ''::bytea ORDER BY leaf_index) AS rows
     FROM entries WHERE tenant_id = request.tenant AND leaf_index >= request.begin_at AND leaf_index < request.end_at${only('tenant_id')}) AS run
   ORDER BY request.number`,
);

export class GrowingLogs {
  readonly #asked: Asked;
  readonly tables: TreeTables;

  constructor(database: Database, logOrigin: string) {
    this.#asked = askedAlone(database, PROJECTOR);
    this.tables = new TreeTables(logOrigin);
  }

  /** Of all logs in these shares, and of those of these tenants, that have entries. */
  async ends(shares: readonly number[] | null, tenants: readonly TenantId[]): Promise<LogEnd[]> {
    const [row] = await this.#asked.query(ENDS, [shares, tenants]);
    const ends = textIn(row, 'ends');
    return ends === '' ? [] : ends.split(',').map(endIn);
  }

  /** All in these shares that have entries. */
  async *stored(shares: readonly number[] | null): AsyncGenerator<StoredLog> {
    for (let after = ''; ; ) {
      const rows = await this.#asked.query(STORED, [after, shares]);
      for (const row of rows) if (row['last_index'] !== null) yield this.#storedIn(row);
      if (rows.length < TENANTS_AT_ONCE) return;
      after = textIn(rows.at(-1), 'tenant_id');
    }
  }

  #storedIn(row: Row): StoredLog {
    return {
      tenant: textIn(row, 'tenant_id'),
      share: numberOf(row, 'share'),
      signedLog: () => this.tables.signedLogIn(row),
      lastIndex: () => numberOf(row, 'last_index'),
      firstEntry: () => (row['first_entry'] === null ? undefined : blobOf(row, 'first_entry')),
    };
  }

  /** How the logs of these tenants that are written to now are signed; a function throws where that cannot be read. */
  async signed(tenants: readonly TenantId[]): Promise<Map<TenantId, () => SignedLog>> {
    const rows = await this.#asked.query(SIGNED, [tenants]);
    return new Map(rows.map((row) => [textIn(row, 'tenant_id'), () => this.tables.signedLogIn(row)]));
  }

  /** The trees as they were last signed; a function throws EvidenceError where what is stored is not that. */
  async trees(logs: readonly SignedLog[]): Promise<(() => TreeState)[]> {
    const plans = logs.map(({ log, latest }) => (latest === undefined ? undefined : planOf(log, latest)));
    const requests = plans.flatMap((plan) => plan?.requests ?? []);
    const signed = plans.filter((plan) => plan !== undefined);
    // All of what is signed is there: nothing of it ever changes, so that it need not be read in one state.
    const tiles = await this.tables.tiles(this.#asked, requests);
    const leaves = await this.#leavesAt(signed);
    const tileOf = new Map(requests.map((request, i) => [request, tiles[i]!]));
    return logs.map(({ log }, i) => {
      const plan = plans[i];
      if (plan === undefined) return () => unsignedTree(log);
      const { latest, requests: own } = plan;
      const ownTiles = own.map((request) => tileOf.get(request)!);
      return () =>
        signedTree(
          log,
          latest,
          makeOf(latest.size, own, ownTiles, (read) => subtreesAt(latest.size, read)),
          leaves.get(log.tenant),
        );
    });
  }

  /** The head at a size that is signed over; throws EvidenceError where the one does not lead to the other. */
  async headWithin(log: LogIdentity, { size: to, note }: StoredCheckpoint, from: number): Promise<TreeHead> {
    const { fromRoot, proof } = await this.tables.made(this.#asked, log, to, (read) => ({
      fromRoot: treeRoot(from, read).slice(),
      proof: from < to ? proveConsistency(from, to, read) : [],
    }));
    const toRoot = headIn(note)?.root;
    if (toRoot === undefined) throw new EvidenceError('MALFORMED', `its checkpoint of ${to} cannot be read`);
    if (from === to && !equalBytes(fromRoot, toRoot))
      throw new EvidenceError('ROOT_MISMATCH', `it does not have the root of its checkpoint of ${to}`);
    if (from < to) verifyConsistency({ from, fromRoot, to, toRoot, proof });
    return { origin: log.origin, size: from, root: fromRoot };
  }

  /** The rows of each, entry and leaf one behind the other; a function throws where they are not whole. */
  async runs(requests: readonly EntryRange[]): Promise<(() => Uint8Array)[]> {
    const rows = await rowForEach(this.#asked, RUNS, requests, (some) => [
      some.map(({ tenant }) => tenant),
      some.map(({ fromIndex }) => fromIndex),
      some.map(({ endIndex }) => endIndex),
    ]);
    return requests.map((request, i) => () => runIn(rows[i], request));
  }

  async #leavesAt(plans: readonly TreePlan[]): Promise<Map<TenantId, Uint8Array>> {
    if (plans.length === 0) return new Map();
    const rows = await this.#asked.query(LEAVES, [
      plans.map(({ log }) => log.tenant),
      plans.map(({ log, latest }) => log.firstIndex + latest.size - 1),
    ]);
    return new Map(rows.map((row) => [textIn(row, 'tenant'), blobOf(row, 'leaf')]));
  }
}

/** Where a head points nowhere, the entries up to there are missing. */
function endIn(text: string): LogEnd {
  const [end, share, tenant] = text.split(' ');
  return {
    tenant: tenant!,
    endIndex: Math.min(Number(end), Number.MAX_SAFE_INTEGER),
    share: Number(share),
  };
}

/** What is read to make a tree again. */
interface TreePlan {
  readonly log: LogIdentity;
  readonly latest: StoredCheckpoint;
  readonly requests: readonly LogTile[];
}

function planOf(log: LogIdentity, latest: StoredCheckpoint): TreePlan {
  const { size } = latest;
  // Of a size that no tree has there is nothing to read, and what is made of that is no tree.
  const tiles = size > 0 ? tilesRead(size, (read) => subtreesAt(size, read)) : [];
  return { log, latest, requests: tiles.map((tile) => ({ log, tile })) };
}

function runIn(row: Row | undefined, { fromIndex, endIndex }: EntryRange): Uint8Array {
  const count = endIndex - fromIndex;
  // Joined, rows of another length would shift all that follow.
  if (numberOf(row, 'count') !== count || numberOf(row, 'whole') !== count) {
    throw new EvidenceError(
      'MALFORMED',
      `entries from ${fromIndex} on are not of their length, or have a gap`,
    );
  }
  const rows = blobOf(row, 'rows');
  if (rows.length !== count * ROW_BYTES)
    throw new EvidenceError('MALFORMED', `entries from ${fromIndex} on are not of their length`);
  return rows;
}
