// The head of each tenant's log for the writer: the next index, the leaf to link to, and the open stream. Heads are not
// stored: the head is the newest entry, the open stream the newest one. They are cached between commits, and dropped as
// soon as another connection has committed or a commit of ours has failed. For a tenant that continued after a restore
// it is the head of the current log.

import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import type { Head } from '../../pool/head.ts';
import { type EntryAt, readHead } from '../../pool/read-head.ts';
import { orTenantFault } from '../../pool/tenant-fault.ts';
import { blobOf, numberOf, textIn } from '../../rows/columns.ts';
import { type LogIdentity, TreeTables } from '../tree/tree-tables.ts';

export interface NumberedHead extends Head {
  /** The tenant's number. */
  readonly tenant: number;
}

const HEADS_REMEMBERED_MAX = 50_000;

export class Heads {
  readonly #trees: TreeTables;
  readonly #newest: StatementSync;
  readonly #stream: StatementSync;
  readonly #entry: StatementSync;
  readonly #lastId: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #heads = new Map<TenantId, NumberedHead>();
  #version: number | undefined;
  #nextId = 0;

  constructor(db: DatabaseSync, logOrigin: string) {
    this.#trees = new TreeTables(db, logOrigin);
    this.#newest = db.prepare(
      'SELECT leaf_index, entry, leaf FROM entries WHERE tenant = ? ORDER BY leaf_index DESC LIMIT 1',
    );
    this.#stream = db.prepare(
      'SELECT stream_id, first_index FROM streams WHERE tenant = ? ORDER BY first_index DESC LIMIT 1',
    );
    this.#entry = db.prepare(
      'SELECT leaf_index, entry, leaf FROM entries WHERE tenant = ? AND leaf_index = ?',
    );
    // Otherwise a number that is too large would throw, and affect the other tenants.
    for (const statement of [this.#newest, this.#stream, this.#entry]) statement.setReadBigInts(true);
    this.#lastId = db.prepare('SELECT max(id) AS id FROM entries');
    this.#dataVersion = db.prepare('PRAGMA data_version');
  }

  /** Called inside the transaction, when no other connection can commit. */
  refresh(): void {
    const version = numberOf(this.#dataVersion.get(), 'data_version');
    if (version !== this.#version || this.#heads.size > HEADS_REMEMBERED_MAX) this.forget();
    if (this.#version === undefined) this.#nextId = Number(this.#lastId.get()?.['id'] ?? 0) + 1;
    this.#version = version;
  }

  forget(): void {
    this.#heads.clear();
    this.#version = undefined;
  }

  /** Changes with every commit of another connection; that of the last refresh. */
  get version(): number | undefined {
    return this.#version;
  }

  /** The id of the next row of `entries`. */
  get nextId(): number {
    return this.#nextId;
  }

  takeId(): number {
    return this.#nextId++;
  }

  /** Undefined for an unknown tenant. */
  of(tenantId: TenantId): NumberedHead | undefined {
    const known = this.#heads.get(tenantId);
    if (known !== undefined) return known;
    const head = this.#readOrRefuse(tenantId);
    if (head !== undefined) this.#heads.set(tenantId, head);
    return head;
  }

  #readOrRefuse(tenantId: TenantId): NumberedHead | undefined {
    return orTenantFault(tenantId, () => {
      const log = this.#trees.log(tenantId);
      return log === undefined ? undefined : this.#read(tenantId, log);
    });
  }

  #read(tenantId: TenantId, log: LogIdentity): NumberedHead {
    const { tenant } = log;
    const newest = this.#newest.get(tenant);
    const stream = newest === undefined ? undefined : this.#stream.get(tenant);
    const head = readHead({
      tenantId,
      log,
      newest: newest && entryIn(newest),
      stream: stream && {
        streamId: textIn(stream, 'stream_id'),
        firstIndex: numberOf(stream, 'first_index'),
      },
      entryAt: (index) => {
        const found = this.#entry.get(tenant, index);
        return found && entryIn(found);
      },
    });
    return { ...head, tenant };
  }
}

function entryIn(row: Record<string, SQLOutputValue>): EntryAt {
  return { index: numberOf(row, 'leaf_index'), entry: blobOf(row, 'entry'), leaf: blobOf(row, 'leaf') };
}
