// The rows of a pool: one statement writes all of them, and moves the heads, each only from its locked state. With
// distributed tables there is one statement per table, and all rows are of one tenant.

import assert from 'node:assert/strict';
import type { DraftOutcome, Once } from '../../../streams/log.ts';
import type { Head } from '../../pool/head.ts';
import { encodeOutcomes } from '../../pool/outcomes.ts';
import type { NewEntry, NewStream } from '../../pool/pool-tables.ts';
import type { MissingKey } from '../../sealing/pool-sealer.ts';
import { contentMonthOf } from '../../rows/content-month.ts';
import { bigints, byteas, integers, smallints, texts } from '../connection/binary-arrays.ts';
import { statement, type Transaction, type Value } from '../connection/database.ts';
import { type KnownDecisions, PooledDecisions } from './decisions.ts';
import type { LockedHead } from './heads.ts';
import { CLASSIFICATIONS } from '../../rows/classification-column.ts';
import { numberOf } from '../../rows/columns.ts';
import {
  FEW_TENANTS,
  LEAF_AT,
  MOVE_HEAD,
  PLANNED_FOR_MANY,
  REST_AT,
  ROOT1_AT,
  ROOT2_AT,
  SEEDS_AT,
  WRITE,
  WRITE_CONTENTS,
  WRITE_ENTRIES,
  WRITE_KEYS,
  WRITE_MANY,
  WRITE_STREAMS,
} from './pool-statements.ts';

const BYTES_AT_FIRST = 64 * 1024;

/** Encodes a column of such values. */
type Encode = (column: never[]) => Uint8Array;

const ENTRY_COLUMNS: readonly Encode[] = [
  texts,
  bigints,
  smallints,
  integers,
  bigints,
  integers,
  integers,
  integers,
  integers,
  bigints,
  texts,
];
const STREAM_COLUMNS: readonly Encode[] = [texts, bigints, texts, bigints];
const USED_KEY_COLUMNS: readonly Encode[] = [texts, texts, texts, byteas, smallints, bigints, texts, byteas];
const HEAD_COLUMNS: readonly Encode[] = [texts, bigints, byteas, bigints, byteas];

export class PoolRows {
  /** The bytes of all rows, in one growing buffer. */
  #bytes = Buffer.allocUnsafe(BYTES_AT_FIRST);
  #length = 0;
  // Column by column, as they are sent.
  readonly #entries = columnsFor(ENTRY_COLUMNS);
  readonly #streams = columnsFor(STREAM_COLUMNS);
  readonly #usedKeys = columnsFor(USED_KEY_COLUMNS);
  readonly decisions: PooledDecisions;
  /** What keys were missing for: nothing may be written then. */
  readonly missingKeys: MissingKey[] = [];

  constructor(known: KnownDecisions) {
    this.decisions = new PooledDecisions(known);
  }

  get isEmpty(): boolean {
    return this.#entries[0]!.length === 0 && this.#usedKeys[0]!.length === 0;
  }

  /** The partitions of the contents. */
  get months(): ReadonlySet<number> {
    // The fourth of ENTRY_COLUMNS.
    return new Set(this.#entries[3] as number[]);
  }

  /** All bytes are copied. */
  putEntry({ tenantId }: Head, added: NewEntry): void {
    const { index, expiresAtMs, entry, leaf, draft, roots, content } = added;
    const { classification, sentFingerprint, decidedBy } = draft;
    const { text1, text2, seeds, keyId = null } = content;
    if (content.missing !== undefined) this.missingKeys.push(content.missing);
    const sent = sentFingerprint?.length ?? 0;
    const at = this.#reserve(REST_AT + sent + text1.length + text2.length);
    const bytes = this.#bytes;
    bytes.set(entry, at);
    bytes.set(leaf, at + LEAF_AT);
    bytes.set(roots.root1, at + ROOT1_AT);
    bytes.set(roots.root2, at + ROOT2_AT);
    // Of a sealed content there are none: what the buffer held before is no secret's place.
    bytes.fill(0, at + SEEDS_AT, at + REST_AT);
    bytes.set(seeds, at + SEEDS_AT);
    if (sentFingerprint !== undefined) bytes.set(sentFingerprint, at + REST_AT);
    bytes.set(text1, at + REST_AT + sent);
    bytes.set(text2, at + REST_AT + sent + text1.length);
    const month = contentMonthOf(expiresAtMs);
    // SQL counts bytes from 1.
    const places = [at + 1, sent, text1.length, text2.length];
    const decision = decidedBy === undefined ? null : this.decisions.put(tenantId, decidedBy);
    const rest = [...places, decision, keyId];
    put(this.#entries, [tenantId, index, classification, month, expiresAtMs ?? null, ...rest]);
  }

  putStream({ tenantId }: Head, { firstIndex, streamId, createdAtMs }: NewStream): void {
    put(this.#streams, [tenantId, firstIndex, streamId, createdAtMs]);
  }

  putUsedKey({ tenantId }: Head, once: Once, outcomes: readonly DraftOutcome[]): void {
    const { operation, key, fingerprint, expiresAtMs, note } = once;
    const classification = CLASSIFICATIONS.indexOf(once.classification);
    const answer = [expiresAtMs, note, encodeOutcomes(outcomes)];
    put(this.#usedKeys, [tenantId, operation, key, fingerprint, classification, ...answer]);
  }

  /** Throws unless every head was still in its locked state. */
  async write(transaction: Transaction, locked: Iterable<LockedHead>): Promise<void> {
    const heads = movedIn(locked);
    const moved = heads[0]!.length;
    const count = (await transaction.isDistributed())
      ? await this.#writeOne(transaction, heads)
      : await this.#writeAll(transaction, heads);
    if (count !== moved)
      throw new Error(`${moved - count} of ${moved} heads were not where they were locked`);
  }

  /** For WRITE_AT_ONCE. */
  valuesAtOnce(heads: Iterable<LockedHead>): Value[] {
    return [
      this.#allBytes(),
      ...encoded(ENTRY_COLUMNS, this.#entries),
      ...encoded(STREAM_COLUMNS, this.#streams),
      ...encoded(HEAD_COLUMNS, movedIn(heads)),
      ...encoded(USED_KEY_COLUMNS, this.#usedKeys),
    ];
  }

  /** Returns the number of moved heads. */
  async #writeAll(transaction: Transaction, heads: readonly Value[][]): Promise<number> {
    const values = [
      this.#allBytes(),
      ...encoded(ENTRY_COLUMNS, this.#entries),
      ...encoded(STREAM_COLUMNS, this.#streams),
      ...encoded(USED_KEY_COLUMNS, this.#usedKeys),
      ...encoded(HEAD_COLUMNS, heads),
    ];
    await this.decisions.write(transaction, false);
    const isMany = heads[0]!.length > FEW_TENANTS;
    if (isMany) await transaction.query(statement(PLANNED_FOR_MANY));
    const [row] = await transaction.query(isMany ? WRITE_MANY : WRITE, values);
    return numberOf(row, 'moved');
  }

  /** The same for one tenant, one table at a time; sent without waiting in between. */
  async #writeOne(transaction: Transaction, heads: readonly Value[][]): Promise<number> {
    const [entryTenants, streamTenants, keyTenants] = [this.#entries, this.#streams, this.#usedKeys].map(
      ([tenants]) => tenants,
    );
    const [tenant, ...others] = new Set(
      [entryTenants, streamTenants, keyTenants, heads[0]].flatMap((of) => of!),
    );
    assert.equal(others.length, 0, 'a transaction is of one tenant');
    if (tenant === undefined) return 0;
    const sent: Promise<unknown>[] = [this.decisions.write(transaction, true)];
    if (entryTenants!.length > 0) {
      const values = [this.#allBytes(), tenant, ...encoded(ENTRY_COLUMNS, this.#entries).slice(1)];
      sent.push(transaction.change(WRITE_ENTRIES, values), transaction.change(WRITE_CONTENTS, values));
    }
    if (streamTenants!.length > 0)
      sent.push(
        transaction.change(WRITE_STREAMS, [tenant, ...encoded(STREAM_COLUMNS, this.#streams).slice(1)]),
      );
    if (keyTenants!.length > 0)
      sent.push(
        transaction.change(WRITE_KEYS, [tenant, ...encoded(USED_KEY_COLUMNS, this.#usedKeys).slice(1)]),
      );
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

  #allBytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Makes room for this number of bytes; returns its offset. */
  #reserve(bytes: number): number {
    const at = this.#length;
    this.#length += bytes;
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * this.#length);
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at;
  }
}

/** Column by column: the tenant, the old and the new state. */
function movedIn(locked: Iterable<LockedHead>): Value[][] {
  const columns = columnsFor(HEAD_COLUMNS);
  for (const { head, from } of locked)
    if (head.nextIndex !== from.nextIndex)
      put(columns, [head.tenantId, from.nextIndex, from.leaf ?? null, head.nextIndex, head.previous]);
  return columns;
}

function columnsFor(encodes: readonly Encode[]): Value[][] {
  return encodes.map(() => []);
}

function put(columns: readonly Value[][], values: readonly Value[]): void {
  for (let i = 0; i < values.length; i++) columns[i]!.push(values[i]!);
}

function encoded(encodes: readonly Encode[], columns: readonly Value[][]): Uint8Array[] {
  return encodes.map((encode, i) => encode(columns[i] as never[]));
}
