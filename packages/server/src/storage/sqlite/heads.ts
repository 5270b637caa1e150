// The head of each tenant's log, as the one who appends needs it: where the next entry goes and what it links to.
// Heads are not stored: the head is the newest entry. They are remembered between commits, and forgotten as soon as
// another connection has committed or a commit of ours has failed.

import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { decodeEntry, type Entry, EvidenceError, genesisHash, leafHash } from '@tallystick/evidence';
import { TenantFault } from './chain-guard.ts';
import { blobOf, numberOf } from './columns.ts';

export interface Head {
  /** The tenant's number. */
  readonly tenant: number;
  nextIndex: number;
  /** The newest leaf; genesis before the first one. */
  previous: Uint8Array;
  receivedAtMs: number;
}

const HEADS_REMEMBERED_MAX = 50_000;

export class Heads {
  readonly #logOrigin: string;
  readonly #tenant: StatementSync;
  readonly #newest: StatementSync;
  readonly #lastId: StatementSync;
  readonly #dataVersion: StatementSync;
  readonly #heads = new Map<TenantId, Head>();
  #version: number | undefined;
  #nextId = 0;

  constructor(db: DatabaseSync, logOrigin: string) {
    this.#logOrigin = logOrigin;
    this.#tenant = db.prepare('SELECT tenant FROM tenants WHERE tenant_id = ?');
    this.#newest = db.prepare(
      'SELECT leaf_index, entry, leaf FROM entries WHERE tenant = ? ORDER BY leaf_index DESC LIMIT 1',
    );
    this.#lastId = db.prepare('SELECT max(id) AS id FROM entries');
    this.#dataVersion = db.prepare('PRAGMA data_version');
  }

  /** Called inside the transaction, when nobody else can commit any more. */
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

  /** The id of the next row of `entries`. */
  get nextId(): number {
    return this.#nextId;
  }

  takeId(): number {
    return this.#nextId++;
  }

  /** Undefined for a tenant that is not there. */
  of(tenantId: TenantId): Head | undefined {
    const known = this.#heads.get(tenantId);
    if (known !== undefined) return known;
    const row = this.#tenant.get(tenantId);
    if (row === undefined) return undefined;
    const head = this.#read(tenantId, numberOf(row, 'tenant'));
    this.#heads.set(tenantId, head);
    return head;
  }

  #read(tenantId: TenantId, tenant: number): Head {
    const newest = this.#newest.get(tenant);
    if (newest === undefined) {
      const previous = genesisHash(`${this.#logOrigin}/t/${tenantId}`);
      return { tenant, nextIndex: 0, previous, receivedAtMs: 0 };
    }
    return { tenant, ...headAfter(tenantId, newest) };
  }
}

/** A log whose newest entry is not what was hashed is not continued: what is built on it could not be proven. */
function headAfter(tenantId: TenantId, newest: Record<string, SQLOutputValue>): Omit<Head, 'tenant'> {
  const index = numberOf(newest, 'leaf_index');
  const leaf = blobOf(newest, 'leaf');
  const entry = decoded(blobOf(newest, 'entry'));
  if (entry?.index !== index || Buffer.compare(leafHash(blobOf(newest, 'entry')), leaf) !== 0) {
    throw new TenantFault(tenantId, `its entry ${index} is not what was hashed`);
  }
  return { nextIndex: index + 1, previous: leaf, receivedAtMs: entry.receivedAtMs };
}

function decoded(bytes: Uint8Array): Entry | undefined {
  try {
    return decodeEntry(bytes);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}
