// Reads of the tree, on any connection: stored checkpoints, and tiles and proofs from the entries and the hashes of
// full tiles. Nothing is shown beyond a log's newest checkpoint.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import {
  encodeEntryBundle,
  type HashReader,
  HASH_BYTES,
  type IndexRange,
  logNamed,
  originOf,
  proveConsistency,
  proveInclusion,
  subtreeHashes,
  type Tile,
  TILE_WIDTH,
  tileHashReader,
  type TileMemory,
  type TileReader,
  tileSizes,
  treeRoot,
} from '@tallystick/evidence';
import type { CosignedPortion, LogHead, LogSize, StoredCheckpoint } from '../../../streams/tree.ts';
import { blobOf, numberOf, textIn, textOrNone } from '../../rows/columns.ts';
import { tileIn } from '../../rows/joined-hashes.ts';
import {
  checkpointIn,
  headOf,
  type LogIdentity as LogIdentityOf,
  identityOf,
} from '../../rows/log-identity.ts';
import type { StoredTrees } from '../../tree/stored-trees.ts';

/** SQLite identifies tenants by number. */
export type LogIdentity = LogIdentityOf<number>;

/** Begins every signature line; the signer's name and a space follow. */
const SIGNATURE = `char(10) || '\u2014 '`;

export class TreeTables {
  readonly #logOrigin: string;
  readonly #memory: TileMemory | undefined;
  readonly #log: StatementSync;
  readonly #nextLog: StatementSync;
  readonly #newest: StatementSync;
  readonly #checkpoint: StatementSync;
  readonly #between: StatementSync;
  readonly #cosigned: StatementSync;
  readonly #leaves: StatementSync;
  readonly #entries: StatementSync;
  readonly #tileHashes: StatementSync;

  /** With a memory, tiles are read once for many proofs. Do not use it to check the stored state. */
  constructor(db: DatabaseSync, logOrigin: string, memory?: TileMemory) {
    this.#logOrigin = logOrigin;
    this.#memory = memory;
    this.#log = db.prepare(
      `SELECT tenants.tenant, coalesce(epoch, 0) AS epoch, coalesce(first_index, 0) AS first_index, previous_checkpoint
       FROM tenants LEFT JOIN epochs ON epochs.tenant = tenants.tenant AND epochs.first_index <= ?2
       WHERE tenant_id = ?1 ORDER BY epoch DESC LIMIT 1`,
    );
    this.#nextLog = db.prepare(
      `SELECT tenant_id, (SELECT max(leaf_index) + 1 FROM entries WHERE entries.tenant = tenants.tenant) AS end_index
       FROM tenants WHERE tenant_id >= ?1 AND end_index > iif(tenant_id = ?1, ?2, 0) ORDER BY tenant_id LIMIT 1`,
    );
    const checkpoints = 'SELECT size, note, published_at_ms FROM checkpoints WHERE tenant = ? AND epoch = ?';
    this.#newest = db.prepare(`${checkpoints} ORDER BY size DESC LIMIT 1`);
    this.#checkpoint = db.prepare(`${checkpoints} AND size = ?`);
    this.#between = db.prepare(`${checkpoints} AND size >= ? AND size < ? LIMIT 1`);
    this.#cosigned = db.prepare(
      `SELECT size, published_at_ms,
         iif(instr(replace(note, ${SIGNATURE} || ?3 || ' ', ''), ${SIGNATURE}), note, NULL) AS note
       FROM checkpoints WHERE tenant = ?1 AND epoch = ?2 AND size < ?4 ORDER BY size DESC LIMIT ?5`,
    );
    // Otherwise a number that is too large would throw an unrelated error.
    for (const statement of [this.#log, this.#nextLog, this.#newest, this.#checkpoint, this.#cosigned])
      statement.setReadBigInts(true);
    const entries =
      'FROM entries WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index';
    const joined = (hash: string, order: string) =>
      `count(*) AS count, sum(length(${hash}) = ${HASH_BYTES}) AS whole,
       CAST(group_concat(${hash}, '' ORDER BY ${order}) AS BLOB) AS hashes`;
    this.#leaves = db.prepare(
      `SELECT ${joined('leaf', 'leaf_index')} FROM entries WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ?`,
    );
    this.#entries = db.prepare(`SELECT entry, leaf ${entries}`);
    this.#tileHashes = db.prepare(
      `SELECT ${joined('hash', 'place')} FROM tile_hashes
       WHERE tenant = ? AND epoch = ? AND level = ? AND place >= ? AND place < ?`,
    );
  }

  /** The log that holds this index of the tenant's sequence; without an index, the current log. */
  log(tenantId: TenantId, index = Number.MAX_SAFE_INTEGER): LogIdentity | undefined {
    const row = this.#log.get(tenantId, index);
    if (row === undefined) return undefined;
    const epoch = numberOf(row, 'epoch');
    const firstIndex = numberOf(row, 'first_index');
    const beginning =
      epoch === 0 ? undefined : { epoch, firstIndex, previousCheckpoint: textIn(row, 'previous_checkpoint') };
    return { tenant: numberOf(row, 'tenant'), ...identityOf(tenantId, this.#logOrigin, beginning) };
  }

  nextLog(tenantId = '', index = 0): { tenant: TenantId; endIndex: number } | undefined {
    const row = this.#nextLog.get(tenantId, index);
    return row === undefined
      ? undefined
      : { tenant: textIn(row, 'tenant_id'), endIndex: numberOf(row, 'end_index') };
  }

  /** The name under which a log of the tenant is signed, whether it exists or not. */
  originOf(tenantId: TenantId, epoch: number): string {
    return originOf({ tenant: tenantId, epoch }, this.#logOrigin);
  }

  /** Undefined for a name that none of the tenant's logs can have. */
  epochOf(tenantId: TenantId, origin: string): number | undefined {
    const named = logNamed(origin, this.#logOrigin);
    return named?.tenant === tenantId ? named.epoch : undefined;
  }

  latest({ tenant, epoch }: LogIdentity): StoredCheckpoint | undefined {
    return checkpointIn(this.#newest.get(tenant, epoch));
  }

  checkpoint({ tenant, epoch }: LogIdentity, size: number): StoredCheckpoint | undefined {
    return checkpointIn(this.#checkpoint.get(tenant, epoch, size));
  }

  head(tenantId: TenantId, index?: number): LogHead | undefined {
    const log = this.log(tenantId, index);
    return log === undefined ? undefined : headOf(log, this.latest(log));
  }

  cosigned(tenantId: TenantId, { epoch, size }: LogSize, limit: number): CosignedPortion {
    const tenant = this.log(tenantId)?.tenant;
    if (tenant === undefined) return { cosigned: [], lookedTo: undefined };
    const rows = this.#cosigned.all(tenant, epoch, this.originOf(tenantId, epoch), size, limit);
    const last = rows.at(-1);
    return {
      cosigned: rows.flatMap((row) => (textOrNone(row, 'note') === undefined ? [] : checkpointIn(row)!)),
      lookedTo: last === undefined ? undefined : numberOf(last, 'size'),
    };
  }

  /** The bytes of a tile or of an entry bundle that some published size has; undefined if there is none. */
  tile(log: LogIdentity, tile: Tile): Uint8Array | undefined {
    const size = this.latest(log)?.size ?? 0;
    const { from, to } = tileSizes(tile);
    if (from > size) return undefined;
    const isPublished = tile.width === TILE_WIDTH || this.#isPublished(log, from, to);
    if (!isPublished) return undefined;
    if (tile.level !== 'entries') return this.#hashTile(log, tile.level, tile.index, tile.width);
    return encodeEntryBundle(
      this.entries(log, tile.index * TILE_WIDTH, tile.width).map(({ entry }) => entry),
    );
  }

  root(log: LogIdentity, size: number): Uint8Array {
    return treeRoot(size, this.hashes(log, size));
  }

  inclusion(log: LogIdentity, index: number, size: number): Uint8Array[] {
    return proveInclusion(index, size, this.hashes(log, size));
  }

  consistency(log: LogIdentity, from: number, to: number): Uint8Array[] {
    return proveConsistency(from, to, this.hashes(log, to));
  }

  subtrees(log: LogIdentity, ranges: readonly IndexRange[]): Uint8Array[] {
    const read = this.hashes(log, ranges.at(-1)?.[1] ?? 0);
    return ranges.flatMap(([begin, end]) => subtreeHashes({ begin, end }, read));
  }

  /** A reader of the tree at one size, which must be stored. */
  hashes(log: LogIdentity, size: number): HashReader {
    const read: TileReader = ({ level, index, width }) => this.#hashTile(log, level, index, width);
    const memory = this.#memory;
    return memory === undefined
      ? tileHashReader(size, read)
      : tileHashReader(size, read, { memory, log: log.origin });
  }

  /** `count` entries from an index of the log on, as they are stored. */
  entries(log: LogIdentity, index: number, count: number): { entry: Uint8Array; leaf: Uint8Array }[] {
    const from = log.firstIndex + index;
    return this.#entries
      .all(log.tenant, from, from + count)
      .map((row) => ({ entry: blobOf(row, 'entry'), leaf: blobOf(row, 'leaf') }));
  }

  #isPublished({ tenant, epoch }: LogIdentity, from: number, to: number): boolean {
    return this.#between.get(tenant, epoch, from, to) !== undefined;
  }

  #hashTile(log: LogIdentity, level: number, index: number, width: number): Uint8Array {
    const begin = index * TILE_WIDTH;
    // Joined by SQLite: reading row by row costs more than the hashing.
    const row =
      level === 0
        ? this.#leaves.get(log.tenant, log.firstIndex + begin, log.firstIndex + begin + width)
        : this.#tileHashes.get(log.tenant, log.epoch, level, begin, begin + width);
    return tileIn(row, log.origin, { level, index, width });
  }
}

/** The reads of one tenant's logs. */
export function storedTrees(tables: TreeTables, tenant: TenantId): StoredTrees<LogIdentity> {
  return {
    log: (index) => tables.log(tenant, index),
    latest: (log) => tables.latest(log),
    checkpoint: (log, size) => tables.checkpoint(log, size),
    made: (log, size, make) => make(tables.hashes(log, size)),
  };
}
