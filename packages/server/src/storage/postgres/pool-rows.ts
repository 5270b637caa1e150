// The rows of a pool on their way to the database: one statement writes all of them, and moves the heads, each only from
// where it was when it was locked. Where tables are distributed it is one for each table, and the rows are of one tenant.

import assert from 'node:assert/strict';
import type { DraftOutcome, Once } from '../../streams/log.ts';
import type { Head } from '../pool/head.ts';
import { encodeOutcomes } from '../pool/outcomes.ts';
import type { NewEntry, NewStream } from '../pool/pool-tables.ts';
import { contentMonthOf } from './content-month.ts';
import type { Transaction, Value } from './database.ts';
import type { LockedHead } from './heads.ts';
import { numberOf } from '../rows/columns.ts';
import {
  LEAF_AT,
  MOVE_HEAD,
  REST_AT,
  ROOT1_AT,
  ROOT2_AT,
  SEEDS_AT,
  WRITE,
  WRITE_CONTENTS,
  WRITE_ENTRIES,
  WRITE_KEYS,
  WRITE_STREAMS,
} from './pool-statements.ts';

export class PoolRows {
  readonly #bytes: Uint8Array[] = [];
  #length = 0;
  // Column by column, as they are sent.
  readonly #entries: Value[][] = [[], [], [], [], [], [], [], [], []];
  readonly #streams: Value[][] = [[], [], [], []];
  readonly #usedKeys: Value[][] = [[], [], [], [], [], [], []];

  get isEmpty(): boolean {
    return this.#entries[0]!.length === 0 && this.#usedKeys[0]!.length === 0;
  }

  /** The bytes of the entry and its hashes are copied; those of the texts are kept. */
  putEntry({ tenantId }: Head, { index, entry, leaf, draft, commitments }: NewEntry): void {
    const { classification, expiresAtMs, sentFingerprint, texts } = draft;
    const { root1, root2, seeds } = commitments;
    const fixed = new Uint8Array(REST_AT);
    fixed.set(entry, 0);
    fixed.set(leaf, LEAF_AT);
    fixed.set(root1, ROOT1_AT);
    fixed.set(root2, ROOT2_AT);
    fixed.set(seeds, SEEDS_AT);
    const at = this.#length;
    for (const bytes of [fixed, ...(sentFingerprint === undefined ? [] : [sentFingerprint]), ...texts])
      this.#putBytes(bytes);
    const month = contentMonthOf(expiresAtMs);
    const sent = sentFingerprint?.length ?? 0;
    // SQL counts bytes from 1.
    const places = [at + 1, sent, texts[0].length, texts[1].length];
    put(this.#entries, [tenantId, index, classification, month, expiresAtMs ?? null, ...places]);
  }

  putStream({ tenantId }: Head, { firstIndex, streamId, createdAtMs }: NewStream): void {
    put(this.#streams, [tenantId, firstIndex, streamId, createdAtMs]);
  }

  putUsedKey({ tenantId }: Head, once: Once, outcomes: readonly DraftOutcome[]): void {
    const { operation, key, fingerprint, expiresAtMs, note } = once;
    put(this.#usedKeys, [tenantId, operation, key, fingerprint, expiresAtMs, note, encodeOutcomes(outcomes)]);
  }

  /** Throws unless every head was still where it had been. */
  async write(transaction: Transaction, locked: Iterable<LockedHead>): Promise<void> {
    const moved = [...locked].filter(({ head, from }) => head.nextIndex !== from.nextIndex);
    const heads: Value[][] = [[], [], [], [], []];
    for (const { head, from } of moved)
      put(heads, [head.tenantId, from.nextIndex, from.leaf ?? null, head.nextIndex, head.previous]);
    const count = (await transaction.isDistributed())
      ? await this.#writeOne(transaction, heads)
      : await this.#writeAll(transaction, heads);
    if (count !== moved.length)
      throw new Error(`${moved.length - count} of ${moved.length} heads were not where they were locked`);
  }

  /** How many heads were moved. */
  async #writeAll(transaction: Transaction, heads: readonly Value[][]): Promise<number> {
    const bytes = Buffer.concat(this.#bytes);
    const values = [bytes, ...this.#entries, ...this.#streams, ...this.#usedKeys, ...heads];
    const [row] = await transaction.query(WRITE, values);
    return numberOf(row, 'moved');
  }

  /** The same for one tenant, a table at a time; sent one behind the other. */
  async #writeOne(transaction: Transaction, heads: readonly Value[][]): Promise<number> {
    const [[entryTenants, ...entries], [streamTenants, ...streams], [keyTenants, ...keys]] = [
      this.#entries,
      this.#streams,
      this.#usedKeys,
    ] as [Value[][], Value[][], Value[][]];
    const [tenant, ...others] = new Set(
      [entryTenants, streamTenants, keyTenants, heads[0]].flatMap((of) => of!),
    );
    assert.equal(others.length, 0, 'a transaction is of one tenant');
    if (tenant === undefined) return 0;
    const sent: Promise<unknown>[] = [];
    if (entryTenants!.length > 0) {
      const values = [Buffer.concat(this.#bytes), tenant, ...entries];
      sent.push(transaction.change(WRITE_ENTRIES, values), transaction.change(WRITE_CONTENTS, values));
    }
    if (streamTenants!.length > 0) sent.push(transaction.change(WRITE_STREAMS, [tenant, ...streams]));
    if (keyTenants!.length > 0) sent.push(transaction.change(WRITE_KEYS, [tenant, ...keys]));
    const isMoved = heads[0]!.length > 0;
    const moved = isMoved
      ? transaction.change(
          MOVE_HEAD,
          heads.map(([value]) => value!),
        )
      : 0;
    const [count] = await Promise.all([moved, ...sent]);
    return count;
  }

  #putBytes(bytes: Uint8Array): void {
    this.#bytes.push(bytes);
    this.#length += bytes.length;
  }
}

function put(columns: readonly Value[][], values: readonly Value[]): void {
  for (const [i, value] of values.entries()) columns[i]!.push(value);
}
