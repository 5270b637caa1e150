// Reads for the growth of logs, many of them in one statement: the ends of logs, their signed states, the trees that
// they continue from, and the new entries. Rows are found by the tenant's sequence, which has no gaps, so the writer
// and the time of the commit do not matter.

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
import type { LogIdentity } from '../../rows/log-identity.ts';
import { headIn, signedTree, subtreesAt, unsignedTree } from '../../tree/signed-tree.ts';
import { ofTenants, rowForEach, type Statements } from '../connection/by-tenant.ts';
import { ALL_TENANTS, type Database, type Row, statement } from '../connection/database.ts';
import {
  type LogTile,
  makeOf,
  newestLog,
  SIGNED_LOG_COLUMNS,
  type SignedLog,
  singleStatements,
  TreeTables,
} from './tree-tables.ts';

/** The end of a log in the tenant's sequence. */
export interface LogEnd {
  readonly tenant: TenantId;
  readonly endIndex: number;
  /** The share of the log. */
  readonly share: number;
}

/** The stored state of a current log. */
export interface StoredLog {
  readonly tenant: TenantId;
  readonly share: number;
  /** Throws EvidenceError if its rows cannot be read. */
  signedLog(): SignedLog;
  /** Of the newest entry, in the tenant's sequence. */
  lastIndex(): number;
  /** The first entry of a log after a restore. */
  firstEntry(): Uint8Array | undefined;
}

/** Rows of a log from an index of the tenant's sequence to another (exclusive). */
export interface EntryRange {
  readonly tenant: TenantId;
  readonly fromIndex: number;
  readonly endIndex: number;
}

const TENANTS_AT_ONCE = 1000;
/** Their tiles take a few megabytes. */
export const LOGS_AT_ONCE = 200;

// As one text, which costs a tenth of as many rows. Tenant names contain no comma.
const ENDS = statement(
  `SELECT coalesce(string_agg(next_index || ' ' || share || ' ' || tenant_id, ','), '') AS ends FROM heads
   WHERE next_index > 0 AND ($1::smallint[] IS NULL OR share = ANY($1) OR tenant_id = ANY($2))`,
);
// Uses the entries themselves, not the head: the anchor is compared with the existing entries.
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
// Joined by the database: reading row by row costs more than the hashing.
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
  readonly #statements: Statements;
  readonly tables: TreeTables;

  constructor(database: Database, logOrigin: string) {
    this.#statements = singleStatements(database, ALL_TENANTS);
    this.tables = new TreeTables(logOrigin);
  }

  /** The ends of all non-empty logs in these shares, and of these tenants. */
  async ends(shares: readonly number[] | null, tenants: readonly TenantId[]): Promise<LogEnd[]> {
    const [row] = await this.#statements.query(ENDS, [shares, tenants]);
    const ends = textIn(row, 'ends');
    return ends === '' ? [] : ends.split(',').map(endIn);
  }

  /** All non-empty logs in these shares. */
  async *stored(shares: readonly number[] | null): AsyncGenerator<StoredLog> {
    for (let after = ''; ; ) {
      const rows = await this.#statements.query(STORED, [after, shares]);
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

  /** The signed states of these tenants' current logs; a function throws if it cannot be read. */
  async signed(tenants: readonly TenantId[]): Promise<Map<TenantId, () => SignedLog>> {
    const rows = await this.#statements.query(SIGNED, [tenants]);
    return new Map(rows.map((row) => [textIn(row, 'tenant_id'), () => this.tables.signedLogIn(row)]));
  }

  /** The trees as they were last signed; a function throws EvidenceError if the stored hashes differ. */
  async trees(logs: readonly SignedLog[]): Promise<(() => TreeState)[]> {
    const plans = logs.map(({ log, latest }) => (latest === undefined ? undefined : planOf(log, latest)));
    const requests = plans.flatMap((plan) => plan?.requests ?? []);
    const signed = plans.filter((plan) => plan !== undefined);
    // Signed data never changes, so it need not be read in one state.
    const tiles = await this.tables.tiles(this.#statements, requests);
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

  /** The head at a size below a signed one; throws EvidenceError if it does not lead to that one. */
  async headWithin(log: LogIdentity, { size: to, note }: StoredCheckpoint, from: number): Promise<TreeHead> {
    const { fromRoot, proof } = await this.tables.made(this.#statements, log, to, (read) => ({
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

  /** The rows of each range, each entry followed by its leaf; a function throws if they are incomplete. */
  async runs(requests: readonly EntryRange[]): Promise<(() => Uint8Array)[]> {
    const rows = await rowForEach(this.#statements, RUNS, requests, (some) => [
      some.map(({ tenant }) => tenant),
      some.map(({ fromIndex }) => fromIndex),
      some.map(({ endIndex }) => endIndex),
    ]);
    return requests.map((request, i) => () => runIn(rows[i], request));
  }

  async #leavesAt(plans: readonly TreePlan[]): Promise<Map<TenantId, Uint8Array>> {
    if (plans.length === 0) return new Map();
    const rows = await this.#statements.query(LEAVES, [
      plans.map(({ log }) => log.tenant),
      plans.map(({ log, latest }) => log.firstIndex + latest.size - 1),
    ]);
    return new Map(rows.map((row) => [textIn(row, 'tenant'), blobOf(row, 'leaf')]));
  }
}

/** If a head points too far, the entries up to there are missing. */
function endIn(text: string): LogEnd {
  const [end, share, tenant] = text.split(' ');
  return {
    tenant: tenant!,
    endIndex: Math.min(Number(end), Number.MAX_SAFE_INTEGER),
    share: Number(share),
  };
}

/** The reads that rebuild a tree. */
interface TreePlan {
  readonly log: LogIdentity;
  readonly latest: StoredCheckpoint;
  readonly requests: readonly LogTile[];
}

function planOf(log: LogIdentity, latest: StoredCheckpoint): TreePlan {
  const { size } = latest;
  // An invalid size has no tiles, and the result is not a valid tree.
  const tiles = size > 0 ? tilesRead(size, (read) => subtreesAt(size, read)) : [];
  return { log, latest, requests: tiles.map((tile) => ({ log, tile })) };
}

function runIn(row: Row | undefined, { fromIndex, endIndex }: EntryRange): Uint8Array {
  const count = endIndex - fromIndex;
  // Rows of another length would shift all that follow.
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
