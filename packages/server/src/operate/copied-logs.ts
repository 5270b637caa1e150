// The logs of a copy, made again from the entries that the database gives back: each leaf, the chain and the tree are
// recomputed, by the code that decides what is signed, and the root at the size that was signed last must be the signed one.

import type { TenantId } from '@tallystick/contract';
import { equalBytes, EvidenceError, HashPool } from '@tallystick/evidence';
import type { LogIdentity } from '../storage/rows/log-identity.ts';
import type { CopiedRow } from '../storage/rows/copied-tables.ts';
import { GrowingTree, ROW_BYTES } from '../storage/tree/growing-tree.ts';
import { headIn, unsignedTree } from '../storage/tree/signed-tree.ts';
import type { StoredCheckpoint } from '../streams/tree.ts';

/** One log as it is on both sides. */
export interface CopiedLog {
  readonly tenant: TenantId;
  readonly origin: string;
  readonly entries: number;
  /** Of the newest checkpoint; 0 and undefined where nothing was signed. */
  readonly signedSize: number;
  readonly root: Uint8Array | undefined;
}

/** What the source says of its logs. */
export interface SourceLogs {
  /** The one that holds this index of the tenant's sequence. */
  log(tenant: TenantId, index: number): SourcePlace | undefined;
  /** Where the log begins that follows upon this one, after a restore. */
  nextBegin(log: SourcePlace): number | undefined;
  latest(log: SourcePlace): StoredCheckpoint | undefined;
}

/** Tenants have a number there. */
type SourcePlace = LogIdentity<number>;

interface OpenLog {
  readonly tenant: TenantId;
  readonly place: SourcePlace;
  readonly nextBegin: number;
  readonly tree: GrowingTree;
  readonly signed: { readonly size: number; readonly root: Uint8Array } | undefined;
  isSignedMet: boolean;
}

/** A log that is not what was signed, with whose it is. */
export class CopiedLogFault extends Error {
  readonly tenant: TenantId;

  constructor(tenant: TenantId, message: string, cause?: unknown) {
    super(message, { cause });
    this.tenant = tenant;
  }
}

export class CopiedLogs {
  readonly #source: SourceLogs;
  readonly #pool = new HashPool();
  readonly #done: CopiedLog[] = [];
  #open: OpenLog | undefined;

  constructor(source: SourceLogs) {
    this.#source = source;
  }

  /** Entries in the order of tenants and indexes. Throws CopiedLogFault. */
  take(rows: readonly CopiedRow[]): void {
    for (let at = 0; at < rows.length; ) {
      const log = this.#logOf(rows[at]!);
      let end = at;
      while (end < rows.length && isOf(log, rows[end]!)) end++;
      this.#grow(log, rows.slice(at, end));
      at = end;
    }
  }

  /** All logs, once all entries were taken. Throws CopiedLogFault. */
  end(): CopiedLog[] {
    this.#close();
    return this.#done;
  }

  #logOf(row: CopiedRow): OpenLog {
    if (this.#open !== undefined && isOf(this.#open, row)) return this.#open;
    this.#close();
    const [tenant, index] = [row['tenant_id'] as TenantId, row['leaf_index'] as number];
    const place = this.#source.log(tenant, index);
    if (place === undefined) throw new CopiedLogFault(tenant, 'there is no such log');
    const latest = this.#source.latest(place);
    const signed = latest && headIn(latest.note);
    const tree = new GrowingTree(unsignedTree(place), this.#pool);
    if (signed !== undefined) tree.stopAt(signed.size);
    const nextBegin = this.#source.nextBegin(place) ?? Infinity;
    this.#open = { tenant, place, nextBegin, tree, signed, isSignedMet: signed === undefined };
    return this.#open;
  }

  #grow(log: OpenLog, rows: readonly CopiedRow[]): void {
    const { tenant, tree, signed, place } = log;
    try {
      tree.take(joined(rows));
    } catch (error) {
      if (!(error instanceof EvidenceError)) throw error;
      throw new CopiedLogFault(tenant, `${error.reason}: ${error.message}`, error);
    }
    const met = tree.pending().heads.find(({ size }) => size === signed?.size);
    tree.published(tree.size);
    if (met === undefined || signed === undefined) return;
    if (!equalBytes(met.root, signed.root))
      throw new CopiedLogFault(
        tenant,
        `the entries of ${place.origin} do not have the root that was signed at size ${signed.size}`,
      );
    log.isSignedMet = true;
  }

  #close(): void {
    const log = this.#open;
    this.#open = undefined;
    if (log === undefined) return;
    const { tenant, place, tree, signed } = log;
    if (!log.isSignedMet)
      throw new CopiedLogFault(
        tenant,
        `${place.origin} was signed with ${signed?.size} entries, and has ${tree.size}`,
      );
    const { origin } = place;
    this.#done.push({
      tenant,
      origin,
      entries: tree.size,
      signedSize: signed?.size ?? 0,
      root: signed?.root,
    });
  }
}

function isOf({ tenant, nextBegin }: OpenLog, row: CopiedRow): boolean {
  return row['tenant_id'] === tenant && (row['leaf_index'] as number) < nextBegin;
}

function joined(rows: readonly CopiedRow[]): Uint8Array {
  const bytes = Buffer.concat(rows.flatMap((row) => [row['entry'] as Uint8Array, row['leaf'] as Uint8Array]));
  if (bytes.length !== rows.length * ROW_BYTES)
    throw new EvidenceError('MALFORMED', 'an entry or a leaf has another length');
  return bytes;
}
