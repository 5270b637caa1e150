// Whether what is stored of events is what was hashed: texts and seeds must lead to the content hash in the entry, and the
// entry to its leaf. Readers ask before anything is shown, many rows at a time, in the thread that reads.

import { decodeEntry, equalBytes, EvidenceError, HASH_BYTES, leafHash } from '@tallystick/evidence';
import { Commitments, SEEDS_BYTES, type TextBytes } from '../commitments.ts';
import { blobOf } from './columns.ts';

type Row = Readonly<Record<string, unknown>>;

/** What `faultsOf` looks at, of entries that are joined with their contents. */
export const CHECKED_COLUMNS = 'entry, leaf, contents.id AS content_id, text1, text2, seeds';

export class StoredContents {
  readonly #commitments = new Commitments();
  readonly #computed = new Uint8Array(HASH_BYTES);

  /** Of each row why it is not what was hashed; undefined where it is, or where its content is removed. */
  faultsOf(rows: readonly Row[]): (string | undefined)[] {
    const seeds = new Uint8Array(rows.length * SEEDS_BYTES);
    this.#commitments.begin(seeds);
    const taken = rows.map((row) => (hasContent(row) ? this.#take(row, seeds) : undefined));
    this.#commitments.run();
    return rows.map((row, i) => entryFault(row) ?? this.#contentFault(row, taken[i]));
  }

  /** The place of a content in the pool, or why it has none. */
  #take(row: Row, seeds: Uint8Array): number | string {
    const own = blobOf(row, 'seeds');
    if (own.length !== SEEDS_BYTES) return `its seeds are ${own.length} bytes, not ${SEEDS_BYTES}`;
    seeds.set(own, this.#commitments.size * SEEDS_BYTES);
    try {
      return this.#commitments.add(textsIn(row));
    } catch (error) {
      if (error instanceof EvidenceError) return error.message;
      throw error;
    }
  }

  #contentFault(row: Row, taken: number | string | undefined): string | undefined {
    if (typeof taken !== 'number') return taken;
    this.#commitments.copyContent(taken, this.#computed, 0);
    const { content } = decodeEntry(blobOf(row, 'entry'));
    return equalBytes(this.#computed, content) ? undefined : 'its content is not what was hashed';
  }
}

export function hasContent(row: Row): boolean {
  return row['content_id'] !== null;
}

export function textsIn(row: Row): TextBytes {
  return [blobOf(row, 'text1'), blobOf(row, 'text2')];
}

function entryFault(row: Row): string | undefined {
  const isSound = equalBytes(leafHash(blobOf(row, 'entry')), blobOf(row, 'leaf'));
  return isSound ? undefined : 'its leaf is not the hash of its entry';
}
