// The head of each tenant's log, as the one who appends needs it: where the next entry goes, what it links to, and
// which stream is open. Heads are not stored: the head is the newest entry, the open stream the newest one. They are
// remembered between commits, and forgotten as soon as another connection has committed or a commit of ours has failed.
// Of a tenant that went on after a restore it is the head of the log that is written to now.

import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { decodeEntry, type Entry, equalBytes, EvidenceError, KINDS, leafHash } from '@tallystick/evidence';
import type { Head, OpenStream } from '../pool/head.ts';
import { TenantFault } from '../pool/tenant-fault.ts';
import { blobOf, numberOf, textIn } from '../rows/columns.ts';
import { type LogPlace, TreeTables } from './tree-tables.ts';

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
    // They would throw for a number that is too large, and so for whoever else is appended to.
    for (const statement of [this.#newest, this.#stream, this.#entry]) statement.setReadBigInts(true);
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
  of(tenantId: TenantId): NumberedHead | undefined {
    const known = this.#heads.get(tenantId);
    if (known !== undefined) return known;
    const head = this.#readOrRefuse(tenantId);
    if (head !== undefined) this.#heads.set(tenantId, head);
    return head;
  }

  #readOrRefuse(tenantId: TenantId): NumberedHead | undefined {
    try {
      const log = this.#trees.log(tenantId);
      return log === undefined ? undefined : this.#read(tenantId, log);
    } catch (error) {
      throw error instanceof EvidenceError ? new TenantFault(tenantId, error.message, error) : error;
    }
  }

  #read(tenantId: TenantId, log: LogPlace): NumberedHead {
    const { tenant, firstIndex: logFirstIndex } = log;
    const newest = this.#newest.get(tenant);
    if (newest === undefined) {
      const previous = log.genesis;
      return { tenantId, tenant, logFirstIndex, nextIndex: 0, previous, receivedAtMs: 0, stream: undefined };
    }
    const { receivedAtMs } = hashedEntry(tenantId, newest, logFirstIndex);
    const nextIndex = numberOf(newest, 'leaf_index') + 1;
    const stream = this.#openStream(tenantId, log, nextIndex);
    return {
      tenantId,
      tenant,
      logFirstIndex,
      nextIndex,
      previous: blobOf(newest, 'leaf'),
      receivedAtMs,
      stream,
    };
  }

  /** The first stream of a log after a restore follows upon one that is not sealed: a seal would be of another log. */
  #openStream(tenantId: TenantId, log: LogPlace, nextIndex: number): OpenStream {
    const row = this.#stream.get(log.tenant);
    if (row === undefined) throw new TenantFault(tenantId, 'it has entries and no stream');
    const [streamId, firstIndex] = [textIn(row, 'stream_id'), numberOf(row, 'first_index')];
    const refuse = (why: string) => new TenantFault(tenantId, `its stream ${streamId} ${why}`);
    const entryAt = (index: number) => {
      const found = this.#entry.get(log.tenant, index);
      if (found === undefined) throw refuse(`is at ${firstIndex}, where the log is not`);
      return hashedEntry(tenantId, found, log.firstIndex);
    };
    if (firstIndex < log.firstIndex) throw refuse(`is of the log before ${log.origin}`);
    if (firstIndex > log.firstIndex && entryAt(firstIndex - 1).kind !== KINDS.streamSeal) {
      throw refuse('follows upon one that is not sealed');
    }
    const firstReceivedAtMs = firstIndex === nextIndex ? undefined : entryAt(firstIndex).receivedAtMs;
    return { streamId, firstIndex, firstReceivedAtMs };
  }
}

/** A log whose entries are not what was hashed is not continued: what is built on it could not be proven. */
function hashedEntry(tenantId: TenantId, row: Record<string, SQLOutputValue>, logFirstIndex: number): Entry {
  const index = numberOf(row, 'leaf_index');
  const entry = decoded(blobOf(row, 'entry'));
  if (
    entry?.index !== index - logFirstIndex ||
    !equalBytes(leafHash(blobOf(row, 'entry')), blobOf(row, 'leaf'))
  ) {
    throw new TenantFault(tenantId, `its entry ${index} is not what was hashed`);
  }
  return entry;
}

function decoded(bytes: Uint8Array): Entry | undefined {
  try {
    return decodeEntry(bytes);
  } catch (error) {
    if (error instanceof EvidenceError) return undefined;
    throw error;
  }
}
