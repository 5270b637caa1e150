// Reads of the tree: stored checkpoints, and tiles and proofs from the entries and the hashes of full tiles. Nothing is
// shown beyond a log's newest checkpoint. One statement reads all tiles that belong together.

import type { TenantId } from '@tallystick/contract';
import {
  encodeEntryBundle,
  HASH_BYTES,
  type HashReader,
  type HashTile,
  originOf,
  type Tile,
  TILE_WIDTH,
  tileHashReader,
  tileSizes,
  tilesRead,
} from '@tallystick/evidence';
import type { CosignedPortion, LogSize, StoredCheckpoint } from '../../../streams/tree.ts';
import { blobOf, numberOf, textIn, textOrNone } from '../../rows/columns.ts';
import { tileIn } from '../../rows/joined-hashes.ts';
import { checkpointIn, type LogIdentity } from '../../rows/log-identity.ts';
import type { StoredTrees } from '../../tree/stored-trees.ts';
import { ofTenants, rowForEach, type Statements } from '../connection/by-tenant.ts';
import {
  ALL_TENANTS,
  type Database,
  type DatabaseScope,
  type Row,
  statement,
} from '../connection/database.ts';
import { LOG_COLUMNS, logIn } from '../log/log-row.ts';

/** A log with its newest checkpoint, by one statement. */
export interface SignedLog {
  readonly log: LogIdentity;
  readonly latest: StoredCheckpoint | undefined;
}

export interface StoredEntry {
  readonly entry: Uint8Array;
  readonly leaf: Uint8Array;
}

/** A tile of some log. */
export interface LogTile {
  readonly log: LogIdentity;
  readonly tile: HashTile;
}

/** Joined with `heads`; a condition restricts the epochs. */
export const newestLog = (condition = 'true') => `
  LEFT JOIN LATERAL (SELECT epoch, first_index, previous_checkpoint FROM epochs
    WHERE epochs.tenant_id = heads.tenant_id AND ${condition} ORDER BY epoch DESC LIMIT 1) AS log ON true
  LEFT JOIN LATERAL (SELECT size, note, published_at_ms FROM checkpoints
    WHERE checkpoints.tenant_id = heads.tenant_id AND checkpoints.epoch = coalesce(log.epoch, 0)
    ORDER BY size DESC LIMIT 1) AS newest ON true`;
export const SIGNED_LOG_COLUMNS = `heads.tenant_id, ${LOG_COLUMNS}, newest.size, newest.note, newest.published_at_ms`;

const LOG = statement(
  `SELECT ${SIGNED_LOG_COLUMNS} FROM heads ${newestLog('first_index <= $2')} WHERE heads.tenant_id = $1`,
);
const NEXT_LOG = statement(
  `SELECT tenant_id, next_index FROM heads
   WHERE tenant_id >= $1 AND next_index > CASE WHEN tenant_id = $1 THEN $2::bigint ELSE 0 END
   ORDER BY tenant_id LIMIT 1`,
);
const NEXT_BEGIN = statement(
  'SELECT first_index FROM epochs WHERE tenant_id = $1 AND epoch > $2 ORDER BY epoch LIMIT 1',
);
const CHECKPOINTS = 'SELECT size, note, published_at_ms FROM checkpoints WHERE tenant_id = $1 AND epoch = $2';
const NEWEST = statement(`${CHECKPOINTS} ORDER BY size DESC LIMIT 1`);
const CHECKPOINT = statement(`${CHECKPOINTS} AND size = $3`);
const BETWEEN = statement(`${CHECKPOINTS} AND size >= $3 AND size < $4 LIMIT 1`);
/** Begins every signature line; the signer's name and a space follow. */
const SIGNATURE = `'\n\u2014 '`;
const COSIGNED = statement(
  `SELECT size, published_at_ms, CASE
     WHEN position(${SIGNATURE} in replace(note, ${SIGNATURE} || $3::text || ' ', '')) > 0 THEN note END AS note
   FROM checkpoints WHERE tenant_id = $1 AND epoch = $2 AND size < $4 ORDER BY size DESC LIMIT $5`,
);
const ENTRIES = statement(
  `SELECT entry, leaf FROM entries WHERE tenant_id = $1 AND leaf_index >= $2 AND leaf_index < $3 ORDER BY leaf_index`,
);
// Joined by the database: reading row by row costs more than the hashing.
const joined = (hash: string, order: string) => `count(*) AS count,
  count(*) FILTER (WHERE octet_length(${hash}) = ${HASH_BYTES}) AS whole, string_agg(${hash}, ''::bytea ORDER BY ${order}) AS hashes`;
const LEAF_TILES = ofTenants(
  3,
  (
    only,
  ) => `SELECT tile.* FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS request (tenant, begin_at, end_at, number),
   LATERAL (SELECT ${joined('leaf', 'leaf_index')} FROM entries
     WHERE tenant_id = request.tenant AND leaf_index >= request.begin_at AND leaf_index < request.end_at${only('tenant_id')}) AS tile
   ORDER BY request.number`,
);
const HASH_TILES = ofTenants(
  5,
  (only) => `SELECT tile.* FROM unnest($1::text[], $2::integer[], $3::integer[], $4::bigint[], $5::bigint[])
     WITH ORDINALITY AS request (tenant, epoch, level, begin_at, end_at, number),
   LATERAL (SELECT ${joined('hash', 'place')} FROM tile_hashes WHERE tenant_id = request.tenant
     AND tile_hashes.epoch = request.epoch AND tile_hashes.level = request.level
     AND place >= request.begin_at AND place < request.end_at${only('tenant_id')}) AS tile
   ORDER BY request.number`,
);

export class TreeTables {
  readonly #logOrigin: string;

  constructor(logOrigin: string) {
    this.#logOrigin = logOrigin;
  }

  /** The log that holds this index of the tenant's sequence; without an index, the current log. */
  async signedLog(
    statements: Statements,
    tenant: TenantId,
    index = Number.MAX_SAFE_INTEGER,
  ): Promise<SignedLog | undefined> {
    const [row] = await statements.query(LOG, [tenant, index]);
    return row === undefined ? undefined : this.signedLogIn(row);
  }

  /** Reads a row with SIGNED_LOG_COLUMNS. */
  signedLogIn(row: Row): SignedLog {
    const log = logIn(row, textIn(row, 'tenant_id'), this.#logOrigin);
    return { log, latest: row['size'] === null ? undefined : checkpointIn(row) };
  }

  /** Iterates over the logs of all tenants. */
  async nextLog(
    database: Database,
    tenant = '',
    index = 0,
  ): Promise<{ tenant: TenantId; endIndex: number } | undefined> {
    const [row] = await database.read(ALL_TENANTS, NEXT_LOG, [tenant, index]);
    return row && { tenant: textIn(row, 'tenant_id'), endIndex: numberOf(row, 'next_index') };
  }

  /** The first index of the log that follows this one after a restore. */
  async nextBegin(statements: Statements, { tenant, epoch }: LogIdentity): Promise<number | undefined> {
    const [row] = await statements.query(NEXT_BEGIN, [tenant, epoch]);
    return row && numberOf(row, 'first_index');
  }

  /** The name under which a log of the tenant is signed, whether it exists or not. */
  originOf(tenant: TenantId, epoch: number): string {
    return originOf({ tenant, epoch }, this.#logOrigin);
  }

  async latest(
    statements: Statements,
    { tenant, epoch }: LogIdentity,
  ): Promise<StoredCheckpoint | undefined> {
    return checkpointIn((await statements.query(NEWEST, [tenant, epoch]))[0]);
  }

  async checkpoint(
    statements: Statements,
    { tenant, epoch }: LogIdentity,
    size: number,
  ): Promise<StoredCheckpoint | undefined> {
    return checkpointIn((await statements.query(CHECKPOINT, [tenant, epoch, size]))[0]);
  }

  async cosigned(
    statements: Statements,
    tenant: TenantId,
    { epoch, size }: LogSize,
    limit: number,
  ): Promise<CosignedPortion> {
    const rows = await statements.query(COSIGNED, [tenant, epoch, this.originOf(tenant, epoch), size, limit]);
    const last = rows.at(-1);
    return {
      cosigned: rows.flatMap((row) => (textOrNone(row, 'note') === undefined ? [] : checkpointIn(row)!)),
      lookedTo: last && numberOf(last, 'size'),
    };
  }

  /** The bytes of a tile or of an entry bundle that some published size has; undefined if there is none. */
  async tile(statements: Statements, log: LogIdentity, tile: Tile): Promise<Uint8Array | undefined> {
    const { level, index, width } = tile;
    if (!(await this.#isPublished(statements, log, tile))) return undefined;
    if (level !== 'entries')
      return (await this.tiles(statements, [{ log, tile: { level, index, width } }]))[0]!();
    const entries = await this.entries(statements, log, index * TILE_WIDTH, width);
    return encodeEntryBundle(entries.map(({ entry }) => entry));
  }

  /** Whether a checkpoint has a size at which the log has this tile with this width. */
  async #isPublished(statements: Statements, { tenant, epoch }: LogIdentity, tile: Tile): Promise<boolean> {
    const { from, to } = tileSizes(tile);
    if (from > Number.MAX_SAFE_INTEGER) return false;
    const values = [tenant, epoch, from, Math.min(to, Number.MAX_SAFE_INTEGER)];
    return (await statements.query(BETWEEN, values)).length > 0;
  }

  /** Applies `make` to the hashes of the tree at a size that is stored. */
  async made<T>(
    statements: Statements,
    log: LogIdentity,
    size: number,
    make: (read: HashReader) => T,
  ): Promise<T> {
    const requests = tilesRead(size, make).map((tile) => ({ log, tile }));
    return makeOf(size, requests, await this.tiles(statements, requests), make);
  }

  /** For each tile a function that returns its bytes, or throws EvidenceError if they do not make up the tile. */
  async tiles(statements: Statements, requests: readonly LogTile[]): Promise<(() => Uint8Array)[]> {
    const ofLeaves = requests.filter(({ tile }) => tile.level === 0);
    const ofHashes = requests.filter(({ tile }) => tile.level > 0);
    const [leaves, hashes] = await Promise.all([
      leafTiles(statements, ofLeaves),
      hashTiles(statements, ofHashes),
    ]);
    const rows = new Map([
      ...ofLeaves.map((request, i) => [request, leaves[i]] as const),
      ...ofHashes.map((request, i) => [request, hashes[i]] as const),
    ]);
    return requests.map((request) => () => tileIn(rows.get(request), request.log.origin, request.tile));
  }

  /** `count` entries from an index of the log on, as they are stored. */
  async entries(
    statements: Statements,
    log: LogIdentity,
    index: number,
    count: number,
  ): Promise<StoredEntry[]> {
    const from = log.firstIndex + index;
    const rows = await statements.query(ENTRIES, [log.tenant, from, from + count]);
    return rows.map((row) => ({ entry: blobOf(row, 'entry'), leaf: blobOf(row, 'leaf') }));
  }
}

/** Uses tiles of one log that were read beforehand. */
export function makeOf<T>(
  size: number,
  requests: readonly LogTile[],
  tiles: readonly (() => Uint8Array)[],
  make: (read: HashReader) => T,
): T {
  const bytes = new Map(requests.map(({ tile: { level, index } }, i) => [`${level}/${index}`, tiles[i]!]));
  return make(tileHashReader(size, ({ level, index }) => bytes.get(`${level}/${index}`)!()));
}

/** The reads of one tenant's logs. */
export function storedTrees(
  tables: TreeTables,
  statements: Statements,
  tenant: TenantId,
): StoredTrees<LogIdentity> {
  return {
    log: async (index) => (await tables.signedLog(statements, tenant, index))?.log,
    latest: (log) => tables.latest(statements, log),
    checkpoint: (log, size) => tables.checkpoint(statements, log, size),
    made: (log, size, make) => tables.made(statements, log, size, make),
  };
}

/** The scope of reads for a tenant. */
export function readerOf(tenant: TenantId): DatabaseScope {
  return { role: 'Reader', tenants: [tenant] };
}

/** Runs each statement separately. */
export function singleStatements(database: Database, scope: DatabaseScope): Statements {
  return {
    query: (statement, values) => database.read(scope, statement, values),
    isDistributed: () => database.isDistributed(),
  };
}

async function leafTiles(statements: Statements, requests: readonly LogTile[]): Promise<Row[]> {
  const runs = requests.map(({ log, tile }) => {
    const beginAt = log.firstIndex + tile.index * TILE_WIDTH;
    return { tenant: log.tenant, beginAt, endAt: beginAt + tile.width };
  });
  return rowForEach(statements, LEAF_TILES, runs, (some) => [
    some.map(({ tenant }) => tenant),
    some.map(({ beginAt }) => beginAt),
    some.map(({ endAt }) => endAt),
  ]);
}

async function hashTiles(statements: Statements, requests: readonly LogTile[]): Promise<Row[]> {
  const runs = requests.map(({ log: { tenant, epoch }, tile: { level, index, width } }) => {
    const beginAt = index * TILE_WIDTH;
    return { tenant, epoch, level, beginAt, endAt: beginAt + width };
  });
  return rowForEach(statements, HASH_TILES, runs, (some) => [
    some.map(({ tenant }) => tenant),
    some.map(({ epoch }) => epoch),
    some.map(({ level }) => level),
    some.map(({ beginAt }) => beginAt),
    some.map(({ endAt }) => endAt),
  ]);
}
