// The commitments of a whole pool, as flat bytes that can be transferred between threads. They do not depend on the
// log, so they can be made while another pool is being written.

import { EvidenceError, HASH_BYTES } from '@tallystick/evidence';
import type { Random } from '../../runtime/random.ts';
import { Commitments, SEEDS_BYTES } from './commitments.ts';
import type { BoxesAhead } from '../sealing/boxes-ahead.ts';
import type { PooledRequest } from './append-message.ts';

// A row: the seeds of the draft, the roots of its groups, its content hash.
const ROOT1_AT = SEEDS_BYTES;
const ROOT2_AT = ROOT1_AT + HASH_BYTES;
const CONTENT_AT = ROOT2_AT + HASH_BYTES;
const ROW_BYTES = CONTENT_AT + HASH_BYTES;

export interface PoolCommitments {
  /** A row for each draft, in the order of the requests. */
  readonly rows: Uint8Array<ArrayBuffer>;
  /** Requests with texts that are not groups of an event, by position, with the reason; their rows are empty. */
  readonly faults: ReadonlyMap<number, string>;
  /** There if content may have been sealed in the thread that made them. */
  readonly boxes?: BoxesAhead | undefined;
}

export class PoolCommitter {
  readonly #random: Random;
  readonly #commitments = new Commitments();

  constructor(random: Random) {
    this.#random = random;
  }

  make(requests: readonly Pick<PooledRequest, 'drafts'>[]): PoolCommitments {
    const count = requests.reduce((sum, { drafts }) => sum + drafts.length, 0);
    const faults = new Map<number, string>();
    const commitments = this.#commitments;
    commitments.begin(this.#random.bytes(count * SEEDS_BYTES));
    const firstPlaces = requests.map(({ drafts }, i) => {
      const first = commitments.size;
      try {
        for (const { texts } of drafts) commitments.add(texts);
      } catch (error) {
        if (!(error instanceof EvidenceError)) throw error;
        faults.set(i, error.message);
      }
      return first;
    });
    commitments.run();
    const rows = new Uint8Array(count * ROW_BYTES);
    let row = 0;
    for (const [i, { drafts }] of requests.entries()) {
      if (!faults.has(i)) this.#copyRows(firstPlaces[i]!, drafts.length, rows, row);
      row += drafts.length;
    }
    return { rows, faults };
  }

  #copyRows(firstPlace: number, count: number, rows: Uint8Array, firstRow: number): void {
    const commitments = this.#commitments;
    for (let i = 0; i < count; i++) {
      const at = (firstRow + i) * ROW_BYTES;
      commitments.copySeeds(firstPlace + i, rows, at);
      commitments.copyRoot(firstPlace + i, 1, rows, at + ROOT1_AT);
      commitments.copyRoot(firstPlace + i, 2, rows, at + ROOT2_AT);
      commitments.copyContent(firstPlace + i, rows, at + CONTENT_AT);
    }
  }
}

/** Decodes one row at a time into the same buffers: a statement copies its values before it returns. */
export class CommitmentRow {
  readonly seeds = new Uint8Array(SEEDS_BYTES);
  readonly root1 = new Uint8Array(HASH_BYTES);
  readonly root2 = new Uint8Array(HASH_BYTES);
  readonly content = new Uint8Array(HASH_BYTES);

  read({ rows }: PoolCommitments, row: number): void {
    const at = row * ROW_BYTES;
    if (at + ROW_BYTES > rows.length) throw new RangeError(`there are no commitments for draft ${row}`);
    copy(rows, at, this.seeds);
    copy(rows, at + ROOT1_AT, this.root1);
    copy(rows, at + ROOT2_AT, this.root2);
    copy(rows, at + CONTENT_AT, this.content);
  }
}

/** For so few bytes a loop is faster than set() with a new view. */
function copy(from: Uint8Array, at: number, into: Uint8Array): void {
  for (let i = 0; i < into.length; i++) into[i] = from[at + i]!;
}
