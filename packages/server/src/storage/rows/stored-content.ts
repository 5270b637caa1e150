// Checks that stored events match their hashes: texts and seeds must lead to the stored roots and to the content hash
// in the entry, and the entry to its leaf. Readers call this before anything is shown, for many rows at a time, in the
// reading thread. A bad value is a fault of its row only, and never throws.

import { isUtf8 } from 'node:buffer';
import {
  contentOf,
  ENTRY_BYTES,
  equalBytes,
  EvidenceError,
  HASH_BYTES,
  readLink,
} from '@tallystick/evidence';
import { fastLeafHash } from '../tree/leaf-hashes.ts';
import { LATEST_MS } from '../../runtime/clock.ts';
import { Commitments, SEEDS_BYTES, type TextBytes } from '../pool/commitments.ts';
import { SEALED_COLUMNS, sealedFaultIn } from '../sealing/sealed-rows.ts';
import { classificationIn } from './classification-column.ts';
import { blobOf, numberOf, numberOrNone, readOr } from './columns.ts';

type Row = Readonly<Record<string, unknown>>;

/** What has decided about an event, of entries joined with their contents; `owner` is the tenant column. */
export function decidedBy(owner: string): string {
  return `(SELECT body FROM decisions WHERE decisions.${owner} = entries.${owner}
    AND decisions.decision = contents.decision) AS decided_by`;
}

/**
 * The columns that `faultsOf` checks, of entries joined with their contents. A statement that reads them must request
 * bigints: it would throw for a number that is too large, and so lose all of its rows.
 */
export const CHECKED_COLUMNS = `leaf_index, classification, entry, leaf, root1, root2,
  contents.id AS content_id, text1, text2, seeds, expires_at_ms, ${SEALED_COLUMNS.SQLite}`;

/** The values of a row differ from what was written. */
class RowFault extends Error {}

export class StoredContents {
  readonly #commitments = new Commitments();
  readonly #computed = new Uint8Array(HASH_BYTES);

  /**
   * For each row, why it does not match its hash; undefined if it does. If the content is removed, the rest is checked.
   * Without a fault every column matches the schema.
   */
  faultsOf(rows: readonly Row[]): (string | undefined)[] {
    const seeds = new Uint8Array(rows.length * SEEDS_BYTES);
    this.#commitments.begin(seeds);
    const places = rows.map((row) => told(() => this.#take(row, seeds)));
    this.#commitments.run();
    return rows.map((row, i) => {
      const place = places[i];
      return typeof place === 'string' ? place : told(() => this.#requireHashed(row, place));
    });
  }

  /** The position of its content in the pool, if it has one. */
  #take(row: Row, seeds: Uint8Array): number | undefined {
    requireForm(row);
    if (!hasContent(row)) return undefined;
    seeds.set(blobOf(row, 'seeds'), this.#commitments.size * SEEDS_BYTES);
    return this.#commitments.add(textsIn(row));
  }

  #requireHashed(row: Row, place: number | undefined): undefined {
    const entry = blobOf(row, 'entry');
    if (!equalBytes(fastLeafHash(entry), blobOf(row, 'leaf')))
      throw new RowFault('its leaf is not the hash of its entry');
    const { contentAt } = readLink(entry, 0);
    const content = entry.subarray(contentAt, contentAt + HASH_BYTES);
    const [root1, root2] = [blobOf(row, 'root1'), blobOf(row, 'root2')];
    if (place === undefined) {
      if (!equalBytes(contentOf([{ root: root1 }, { root: root2 }]), content))
        throw new RowFault('its roots are not what was hashed');
      return;
    }
    const computed = this.#computed;
    this.#commitments.copyContent(place, computed, 0);
    if (!equalBytes(computed, content)) throw new RowFault('its content is not what was hashed');
    for (const [group, root] of [[1, root1] as const, [2, root2] as const]) {
      this.#commitments.copyRoot(place, group, computed, 0);
      if (!equalBytes(computed, root)) throw new RowFault(`its root ${group} is not that of its content`);
    }
  }
}

export function hasContent(row: Row): boolean {
  return row['content_id'] !== null;
}

export function textsIn(row: Row): TextBytes {
  return [blobOf(row, 'text1'), blobOf(row, 'text2')];
}

/** The index in the tenant's sequence; -1 if it cannot be read. */
export function indexIn(row: Row): number {
  return readOr(() => numberOf(row, 'leaf_index'), -1);
}

/** The result of `read`, or the reason why the row cannot be read. */
function told<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof RowFault || error instanceof EvidenceError) return error.message;
    throw error;
  }
}

/** Throws unless each column has the type and length of the schema. */
function requireForm(row: Row): void {
  numberOf(row, 'leaf_index');
  classificationIn(row);
  requireBytes(row, 'entry', ENTRY_BYTES);
  readLink(blobOf(row, 'entry'), 0);
  for (const column of ['leaf', 'root1', 'root2']) requireBytes(row, column, HASH_BYTES);
  if (!hasContent(row)) return;
  // Opened before, if it can be.
  const sealedFault = sealedFaultIn(row);
  if (sealedFault !== undefined) throw new RowFault(sealedFault);
  if (!textsIn(row).every((text) => isUtf8(text))) throw new RowFault('its content is not UTF-8');
  requireBytes(row, 'seeds', SEEDS_BYTES);
  const expiresAtMs = numberOrNone(row, 'expires_at_ms') ?? 0;
  if (expiresAtMs < 0 || expiresAtMs > LATEST_MS) throw new RowFault(`it expires at ${expiresAtMs}`);
}

function requireBytes(row: Row, column: string, length: number): void {
  const found = blobOf(row, column).length;
  if (found !== length) throw new RowFault(`its ${column} is ${found} bytes, not ${length}`);
}
