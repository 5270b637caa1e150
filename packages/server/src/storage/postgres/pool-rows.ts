// The rows of a pool on their way to the database: one statement writes all of them. Bytes of all rows go in one piece, and
// the database takes them apart by place and length, which costs it less than a value for each, and nobody a temporary
// table. The heads are moved in the same statement, each only from where it was when it was locked.

import { ENTRY_BYTES, HASH_BYTES } from '@tallystick/evidence';
import type { DraftOutcome, Once } from '../../streams/log.ts';
import { SEEDS_BYTES } from '../commitments.ts';
import type { Head } from '../pool/head.ts';
import { encodeOutcomes } from '../pool/outcomes.ts';
import type { NewEntry, NewStream } from '../pool/pool-tables.ts';
import { contentMonthOf } from './content-month.ts';
import { statement, type Transaction, type Value } from './database.ts';
import type { LockedHead } from './heads.ts';
import { numberOf } from '../rows/columns.ts';

// The bytes of a row, in this order; behind them the fingerprint, if there is one, and the two texts.
const LEAF_AT = ENTRY_BYTES;
const ROOT1_AT = LEAF_AT + HASH_BYTES;
const ROOT2_AT = ROOT1_AT + HASH_BYTES;
const SEEDS_AT = ROOT2_AT + HASH_BYTES;
const REST_AT = SEEDS_AT + SEEDS_BYTES;

const piece = (at: string, length: number | string) => `substring($1::bytea from ${at} for ${length})`;

const WRITE = statement(
  `WITH row AS MATERIALIZED (
     SELECT * FROM unnest($2::text[], $3::bigint[], $4::smallint[], $5::integer[], $6::bigint[],
       $7::integer[], $8::integer[], $9::integer[], $10::integer[])
     AS row (tenant_id, leaf_index, classification, content_month, expires_at_ms, at, sent, length1, length2)
   ), entry AS (
     INSERT INTO entries (tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2)
     SELECT tenant_id, leaf_index, classification, content_month, ${piece('at', ENTRY_BYTES)},
       ${piece(`at + ${LEAF_AT}`, HASH_BYTES)}, ${piece(`at + ${ROOT1_AT}`, HASH_BYTES)},
       ${piece(`at + ${ROOT2_AT}`, HASH_BYTES)} FROM row
   ), content AS (
     INSERT INTO contents
       (tenant_id, leaf_index, content_month, seeds, sent_fingerprint, text1, text2, expires_at_ms)
     SELECT tenant_id, leaf_index, content_month, ${piece(`at + ${SEEDS_AT}`, SEEDS_BYTES)},
       CASE WHEN sent > 0 THEN ${piece(`at + ${REST_AT}`, 'sent')} END,
       ${piece(`at + ${REST_AT} + sent`, 'length1')}, ${piece(`at + ${REST_AT} + sent + length1`, 'length2')},
       expires_at_ms FROM row
   ), stream AS (
     INSERT INTO streams (tenant_id, first_index, stream_id, created_at_ms)
     SELECT * FROM unnest($11::text[], $12::bigint[], $13::text[], $14::bigint[])
   ), used_key AS (
     INSERT INTO used_keys (tenant_id, operation, key, fingerprint, expires_at_ms, note, outcomes)
     SELECT * FROM unnest($15::text[], $16::text[], $17::text[], $18::bytea[], $19::bigint[], $20::text[], $21::bytea[])
     ON CONFLICT (tenant_id, operation, key) DO UPDATE SET fingerprint = excluded.fingerprint,
       expires_at_ms = excluded.expires_at_ms, note = excluded.note, outcomes = excluded.outcomes
   ), head AS (
     UPDATE heads SET next_index = moved.next_index, leaf = moved.leaf
     FROM unnest($22::text[], $23::bigint[], $24::bytea[], $25::bigint[], $26::bytea[])
       AS moved (tenant_id, from_index, from_leaf, next_index, leaf)
     WHERE heads.tenant_id = moved.tenant_id AND heads.next_index = moved.from_index
       AND heads.leaf IS NOT DISTINCT FROM moved.from_leaf
     RETURNING 1
   ) SELECT count(*) AS moved FROM head`,
);

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
    const values = [
      Buffer.concat(this.#bytes),
      ...this.#entries,
      ...this.#streams,
      ...this.#usedKeys,
      ...heads,
    ];
    const [row] = await transaction.query(WRITE, values);
    const count = numberOf(row, 'moved');
    if (count !== moved.length)
      throw new Error(`${moved.length - count} of ${moved.length} heads were not where they were locked`);
  }

  #putBytes(bytes: Uint8Array): void {
    this.#bytes.push(bytes);
    this.#length += bytes.length;
  }
}

function put(columns: readonly Value[][], values: readonly Value[]): void {
  for (const [i, value] of values.entries()) columns[i]!.push(value);
}
