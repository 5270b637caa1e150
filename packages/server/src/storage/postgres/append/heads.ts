// The heads of logs, locked: the holder of a lock is the only writer of that log. A log that another transaction has
// locked is skipped, so that no pool queues behind a slow one, and there are no deadlocks. Heads are cached between
// commits; one that another node has moved is read again, and compared with the entries.

import type { TenantId } from '@tallystick/contract';
import { equalBytes, EvidenceError } from '@tallystick/evidence';
import type { Head } from '../../pool/head.ts';
import { type EntryAt, readHead } from '../../pool/read-head.ts';
import { ShortenedLog, TenantFault } from '../../pool/tenant-fault.ts';
import { blobOf, blobOrNone, numberOf, numberOrNone, textIn } from '../../rows/columns.ts';
import { type Row, statement, type Transaction } from '../connection/database.ts';
import { LOG_COLUMNS, logIn } from '../log/log-row.ts';

/** The state of a head when it was locked: it is moved only from there. */
export interface HeadState {
  readonly nextIndex: number;
  readonly leaf: Uint8Array | undefined;
}

export interface LockedHead {
  readonly head: Head;
  readonly from: HeadState;
}

export interface LockedHeads {
  readonly heads: ReadonlyMap<TenantId, LockedHead>;
  /** Logs that another transaction has locked. */
  readonly skipped: ReadonlySet<TenantId>;
  /** Logs that cannot be continued. */
  readonly faults: readonly TenantFault[];
}

const HEADS_REMEMBERED_MAX = 50_000;

const LOCK_TEXT =
  'SELECT tenant_id, next_index, leaf FROM heads WHERE tenant_id = ANY($1) ORDER BY tenant_id FOR UPDATE';
const LOCK = statement(`${LOCK_TEXT} SKIP LOCKED`);
const LOCK_WAITING = statement(LOCK_TEXT);
const THERE = statement('SELECT tenant_id FROM heads WHERE tenant_id = ANY($1)');
/** Separate lookups: a join might scan all entries. */
const entryAt = (index: string, name: string) => `LEFT JOIN LATERAL (SELECT entry, leaf FROM entries
     WHERE entries.tenant_id = heads.tenant_id AND entries.leaf_index = ${index} LIMIT 1) AS ${name} ON true`;
// A separate statement after the lock, so that it sees earlier commits.
const READ = statement(
  `SELECT heads.tenant_id, heads.next_index, newest.entry, newest.leaf,
     ${LOG_COLUMNS},
     stream.stream_id, stream.first_index AS stream_first_index,
     first.entry AS first_entry, first.leaf AS first_leaf, before.entry AS before_entry, before.leaf AS before_leaf
   FROM heads
   ${entryAt('heads.next_index - 1', 'newest')}
   LEFT JOIN LATERAL (SELECT epoch, first_index, previous_checkpoint FROM epochs
     WHERE epochs.tenant_id = heads.tenant_id ORDER BY epoch DESC LIMIT 1) AS log ON true
   LEFT JOIN LATERAL (SELECT stream_id, first_index FROM streams
     WHERE streams.tenant_id = heads.tenant_id ORDER BY first_index DESC LIMIT 1) AS stream ON true
   ${entryAt('stream.first_index', 'first')}
   ${entryAt('stream.first_index - 1', 'before')}
   WHERE heads.tenant_id = ANY($1)`,
);

export class Heads {
  readonly #logOrigin: string;
  /** As committed, or as they will be once the pools under way are. */
  readonly #known = new Map<TenantId, Head>();
  /** The last committed size of each log; kept when the cache is cleared. */
  readonly #reached = new Map<TenantId, number>();

  constructor(logOrigin: string) {
    this.#logOrigin = logOrigin;
  }

  /** With `waitMs` it waits this long, and then throws; for one tenant only. */
  async lock(transaction: Transaction, tenants: readonly TenantId[], waitMs?: number): Promise<LockedHeads> {
    if (waitMs !== undefined) await transaction.query(statement(`SET LOCAL lock_timeout = ${waitMs}`));
    const places = new Map<TenantId, HeadState>();
    for (const row of await transaction.query(waitMs === undefined ? LOCK : LOCK_WAITING, [tenants])) {
      const place = { nextIndex: numberOf(row, 'next_index'), leaf: blobOrNone(row, 'leaf') };
      places.set(textIn(row, 'tenant_id'), place);
    }
    const faults: TenantFault[] = [];
    const heads = new Map<TenantId, LockedHead>();
    const unknown: TenantId[] = [];
    for (const [tenant, from] of places) {
      const reached = this.#reached.get(tenant) ?? 0;
      if (from.nextIndex < reached) {
        faults.push(new ShortenedLog(tenant, from.nextIndex, reached));
        continue;
      }
      const head = this.#knownAt(tenant, from);
      // A copy: the pool moves it, and the cache holds committed heads.
      if (head === undefined) unknown.push(tenant);
      else heads.set(tenant, { head: copyOf(head), from });
    }
    const read = unknown.length === 0 ? [] : await transaction.query(READ, [unknown]);
    for (const row of read) {
      const head = this.#headIn(row, faults);
      const from = places.get(textIn(row, 'tenant_id'));
      if (head !== undefined && from !== undefined) heads.set(head.tenantId, { head, from });
    }
    return { heads, skipped: await this.#skipped(transaction, tenants, places), faults };
  }

  /** The cached heads, if all of them are known; the logs are not locked. */
  remembered(tenants: readonly TenantId[]): LockedHeads | undefined {
    const heads = new Map<TenantId, LockedHead>();
    for (const tenant of tenants) {
      const head = this.#known.get(tenant);
      if (head === undefined) return undefined;
      const { nextIndex, previous } = head;
      const leaf = nextIndex === 0 ? undefined : previous;
      heads.set(tenant, { head: copyOf(head), from: { nextIndex, leaf } });
    }
    return { heads, skipped: new Set(), faults: [] };
  }

  /** Stores heads that are committed, or will be: they are compared with the database before they are moved again. */
  remember(locked: Iterable<LockedHead>): void {
    if (this.#known.size > HEADS_REMEMBERED_MAX) this.#known.clear();
    for (const { head } of locked) this.#known.set(head.tenantId, head);
  }

  /**
   * Records a committed and acknowledged size. A log that is shorter later was put back: new entries would replace
   * others that may be signed already.
   */
  reached(tenant: TenantId, nextIndex: number): void {
    const before = this.#reached.get(tenant) ?? 0;
    this.#reached.delete(tenant);
    this.#reached.set(tenant, Math.max(before, nextIndex));
    if (this.#reached.size <= HEADS_REMEMBERED_MAX) return;
    const [oldest] = this.#reached.keys();
    this.#reached.delete(oldest!);
  }

  forget(tenants: Iterable<TenantId> = this.#known.keys()): void {
    for (const tenant of tenants) this.#known.delete(tenant);
  }

  /** The cached head, if it matches the current state. */
  #knownAt(tenant: TenantId, { nextIndex, leaf }: HeadState): Head | undefined {
    const head = this.#known.get(tenant);
    if (head === undefined || head.nextIndex !== nextIndex) return undefined;
    const isAt = leaf === undefined ? nextIndex === 0 : equalBytes(head.previous, leaf);
    return isAt ? head : undefined;
  }

  #headIn(row: Row, faults: TenantFault[]): Head | undefined {
    const tenantId = textIn(row, 'tenant_id');
    try {
      return headIn(row, tenantId, this.#logOrigin);
    } catch (error) {
      if (error instanceof TenantFault) faults.push(error);
      else if (error instanceof EvidenceError) faults.push(new TenantFault(tenantId, error.message, error));
      else throw error;
      return undefined;
    }
  }

  async #skipped(
    transaction: Transaction,
    tenants: readonly TenantId[],
    places: ReadonlyMap<TenantId, HeadState>,
  ): Promise<Set<TenantId>> {
    const missing = tenants.filter((tenant) => !places.has(tenant));
    if (missing.length === 0) return new Set();
    return new Set((await transaction.query(THERE, [missing])).map((row) => textIn(row, 'tenant_id')));
  }
}

/** The head object is changed in place; its byte arrays are replaced, never changed. */
function copyOf(head: Head): Head {
  return { ...head, stream: head.stream && { ...head.stream } };
}

function headIn(row: Row, tenantId: TenantId, logOrigin: string): Head {
  const nextIndex = numberOf(row, 'next_index');
  const newest = entryIn(row, '', nextIndex - 1);
  if (nextIndex > 0 && newest === undefined)
    throw new TenantFault(tenantId, `its entry ${nextIndex - 1} is missing`);
  const firstIndex = numberOrNone(row, 'stream_first_index');
  return readHead({
    tenantId,
    log: logIn(row, tenantId, logOrigin),
    newest,
    stream: firstIndex === undefined ? undefined : { streamId: textIn(row, 'stream_id'), firstIndex },
    entryAt: (index) => entryIn(row, index === firstIndex ? 'first_' : 'before_', index),
  });
}

function entryIn(row: Row, prefix: string, index: number): EntryAt | undefined {
  if (row[`${prefix}entry`] === null) return undefined;
  return { index, entry: blobOf(row, `${prefix}entry`), leaf: blobOf(row, `${prefix}leaf`) };
}
