// Checks that stored events match their hashes: texts and seeds must lead to the stored roots and to the content hash
// in the entry, and the entry to its leaf. Readers call this before anything is shown, for many rows at a time, in the
// reading thread. A bad value is a fault of its row only, and never throws.

import { isUtf8 } from 'node:buffer';
import {
  contentOf,
  ContentPool,
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
import { deletedIn, shownUnits, unitColumnsIn } from './punctured.ts';

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
  contents.id AS content_id, text1, text2, seeds, closed, expires_at_ms, ${SEALED_COLUMNS.SQLite}`;

/** The values of a row differ from what was written. */
class RowFault extends Error {}

/** Where a content is hashed: whole ones take the fast way, and few have lost single units. */
interface Place {
  readonly pool: Pick<Commitments, 'copyContent' | 'copyRoot'>;
  readonly at: number;
}

export class StoredContents {
  readonly #commitments = new Commitments();
  #punctured: PuncturedPool | undefined;
  readonly #computed = new Uint8Array(HASH_BYTES);

  /**
   * For each row, why it does not match its hash; undefined if it does. If the content is removed, the rest is checked; of
   * single units that are, a notice must say so (`withDeletedTags`). Without a fault every column matches the schema.
   */
  faultsOf(rows: readonly Row[]): (string | undefined)[] {
    const seeds = new Uint8Array(rows.length * SEEDS_BYTES);
    this.#commitments.begin(seeds);
    this.#punctured?.reset();
    const places = rows.map((row) => told(() => this.#take(row, seeds)));
    this.#commitments.run();
    this.#punctured?.run();
    return rows.map((row, i) => {
      const place = places[i];
      return typeof place === 'string' ? place : told(() => this.#requireHashed(row, place));
    });
  }

  /** The position of its content in the pool, if it has one. */
  #take(row: Row, seeds: Uint8Array): Place | undefined {
    requireForm(row);
    if (!hasContent(row)) return undefined;
    if (row['closed'] !== null) {
      requireNoticed(row);
      const pool = (this.#punctured ??= new PuncturedPool());
      return { pool, at: pool.add(shownUnits(unitColumnsIn(row))) };
    }
    seeds.set(blobOf(row, 'seeds'), this.#commitments.size * SEEDS_BYTES);
    return { pool: this.#commitments, at: this.#commitments.add(textsIn(row)) };
  }

  #requireHashed(row: Row, place: Place | undefined): undefined {
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
    place.pool.copyContent(place.at, computed, 0);
    if (!equalBytes(computed, content)) throw new RowFault('its content is not what was hashed');
    for (const [group, root] of [[1, root1] as const, [2, root2] as const]) {
      place.pool.copyRoot(place.at, group, computed, 0);
      if (!equalBytes(computed, root)) throw new RowFault(`its root ${group} is not that of its content`);
    }
  }
}

/** Contents that have lost single units, which are hashed from what is left of these. */
class PuncturedPool extends ContentPool {
  copyRoot(place: number, group: 1 | 2, into: Uint8Array, at: number): void {
    this.copyGroupRoot(place, group, into, at);
  }
}

const DELETED_TAGS = 'deleted_tags';

/** The units that checked notices say are deleted, each with the first notice that says so. Tags are in base64. */
export type DeletedTags = ReadonlyMap<string, number>;

export function withDeletedTags(row: Row, tags: DeletedTags): Row {
  return { ...row, [DELETED_TAGS]: tags };
}

/** Reads a row of `withDeletedTags`. */
export function deletedTagsIn(row: Row): DeletedTags | undefined {
  return row[DELETED_TAGS] as DeletedTags | undefined;
}

/** Throws unless notices account for every deleted unit. */
function requireNoticed(row: Row): void {
  const noticed = deletedTagsIn(row);
  const unexplained = deletedIn(unitColumnsIn(row).closed)
    .flat()
    .find(({ tag }) => noticed?.has(tag) !== true);
  if (unexplained !== undefined) throw new RowFault(`${unexplained.path} is gone, and no notice says why`);
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
  if (row['closed'] === null) requireBytes(row, 'seeds', SEEDS_BYTES);
  const expiresAtMs = numberOrNone(row, 'expires_at_ms') ?? 0;
  if (expiresAtMs < 0 || expiresAtMs > LATEST_MS) throw new RowFault(`it expires at ${expiresAtMs}`);
}

function requireBytes(row: Row, column: string, length: number): void {
  const found = blobOf(row, column).length;
  if (found !== length) throw new RowFault(`its ${column} is ${found} bytes, not ${length}`);
}
