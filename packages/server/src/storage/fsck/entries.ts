// Reads back one log, entry by entry: each must match its hash, have the right index, name the previous leaf, not be
// received before that one, and have values that lead to its content hash. No column is trusted. Memory use is that of
// one lot.

import {
  contentOf,
  decodeEntry,
  type Deleted,
  type Entry,
  ENTRY_BYTES,
  equalBytes,
  EvidenceError,
  HASH_BYTES,
  HashPool,
  isNotice,
  type Notice,
  openTexts,
  readLink,
  readNoticeAndKeys,
  splitGroup,
} from '@tallystick/evidence';
import { SEED_BYTES, saltsOf } from '../pool/commitments.ts';
import { hashLeaves } from '../tree/leaf-hashes.ts';
import type { Checks } from './checks.ts';
import { atIndex, fault } from './store-fault.ts';
import { deletedIn } from '../rows/punctured.ts';
import type { LogRow, RowContent } from './log-row.ts';
import { canonicalText, LotValues } from './values.ts';

/** A checked entry. */
export interface SoundEntry {
  readonly index: number;
  readonly receivedAtMs: number;
  /** Recomputed. */
  readonly leaf: Uint8Array;
  /** The decoded entry if something of its content is deleted: all of it, or the units with these tags. */
  readonly deleted: { readonly entry: Entry; readonly what: Deleted } | undefined;
  readonly notice: Notice | undefined;
}

/** The position in a log at which the walk begins. */
export interface WalkStart {
  /** The index of the log's first entry in the tenant's sequence. */
  readonly firstIndex: number;
  /** The index in the log of the next entry, and the leaf that it must name. */
  readonly nextIndex: number;
  readonly previous: Uint8Array;
}

const NO_CONTENT = -1;

/** Resources that are costly to create; all logs share them, one at a time. */
export class WalkResources {
  readonly checks: Checks;
  readonly pool = new HashPool();
  readonly values: LotValues;

  constructor(checks: Checks) {
    this.checks = checks;
    this.values = new LotValues(checks);
  }
}

export class EntryWalk {
  readonly #resources: WalkResources;
  readonly #firstIndex: number;
  #nextIndex: number;
  #previous: Uint8Array;
  #lastReceivedAtMs = 0;

  constructor(resources: WalkResources, { firstIndex, nextIndex, previous }: WalkStart) {
    this.#resources = resources;
    this.#firstIndex = firstIndex;
    this.#nextIndex = nextIndex;
    this.#previous = previous;
  }

  /** The index in the log of the next entry. */
  get nextIndex(): number {
    return this.#nextIndex;
  }

  /** Checks the next rows and passes each to `use`; throws EvidenceError at the first that does not fit. */
  take(rows: readonly LogRow[], use: (sound: SoundEntry) => void): void {
    const { values } = this.#resources;
    const places: number[] = [];
    const unreadable = this.#addValues(rows, places);
    values.run();
    const leavesAt = hashLeaves(this.#resources.pool, places.length, (i) => rows[i]!.entry);
    for (let i = 0; i < places.length; i++) {
      const index = this.#nextIndex;
      let sound: SoundEntry;
      try {
        sound = this.#sound(rows[i]!, this.#resources.pool.digest(leavesAt + i * HASH_BYTES), places[i]!);
      } catch (error) {
        throw error instanceof EvidenceError ? atIndex(error, index) : error;
      }
      this.#nextIndex++;
      use(sound);
    }
    if (unreadable !== undefined) throw atIndex(unreadable, this.#nextIndex);
  }

  /** Adds the values of every row up to the first unreadable one, whose fault is returned. */
  #addValues(rows: readonly LogRow[], places: number[]): EvidenceError | undefined {
    const { values } = this.#resources;
    values.begin(rows.length);
    try {
      for (const [i, row] of rows.entries()) {
        // A wrong position is reported before any fault of the content.
        this.#requirePlace(row, this.#nextIndex + i);
        if (row.entry.length !== ENTRY_BYTES)
          throw fault('MALFORMED', `is ${row.entry.length} bytes, not ${ENTRY_BYTES}`);
        places.push(row.content === undefined ? NO_CONTENT : values.add(row, row.content));
      }
      return undefined;
    } catch (error) {
      if (error instanceof EvidenceError) return error;
      throw error;
    }
  }

  #requirePlace({ sequenceIndex }: LogRow, index: number): void {
    const found = sequenceIndex - this.#firstIndex;
    if (found === index) return;
    throw fault('INDEX_MISMATCH', `it is missing; the one that follows is stored at index ${found}`);
  }

  #sound(row: LogRow, leaf: Uint8Array, place: number): SoundEntry {
    const { checks, values } = this.#resources;
    if (checks.has('leaves') && !equalBytes(leaf, row.leaf))
      throw fault('LEAF_MISMATCH', 'is not what was hashed');
    const { kind, index, receivedAtMs, previousAt, contentAt } = readLink(row.entry, 0);
    if (index !== this.#nextIndex) throw fault('INDEX_MISMATCH', `says that it is entry ${index}`);
    if (
      checks.has('chain') &&
      !equalBytes(row.entry.subarray(previousAt, previousAt + HASH_BYTES), this.#previous)
    )
      throw fault('CHAIN_BROKEN', 'does not name the leaf before it');
    this.#previous = leaf;
    if (checks.has('times') && receivedAtMs < this.#lastReceivedAtMs)
      throw fault('TIME_REVERSED', 'was received before the one that it follows');
    this.#lastReceivedAtMs = receivedAtMs;
    const found = { index, receivedAtMs, leaf, deleted: undefined, notice: undefined };
    if (place === NO_CONTENT) return { ...found, deleted: { entry: deletedEntry(row), what: true } };
    values.require(place, row, row.entry.subarray(contentAt, contentAt + HASH_BYTES));
    if (row.content!.closed !== undefined) return { ...found, deleted: puncturedEntry(row, row.content!) };
    return isNotice(kind) ? { ...found, notice: noticeIn(decodeEntry(row.entry), row.content!) } : found;
  }
}

/** For an event without content, the roots remain, and must still lead to its content hash. */
function deletedEntry({ entry: bytes, root1, root2 }: LogRow): Entry {
  const entry = decodeEntry(bytes);
  if (isNotice(entry.kind)) throw fault('NOTICE_INVALID', 'is a notice, and its content is gone');
  if (root1.length !== HASH_BYTES || root2.length !== HASH_BYTES)
    throw fault('MALFORMED', 'has a root that is no hash');
  if (!equalBytes(contentOf([{ root: root1 }, { root: root2 }]), entry.content))
    throw fault('LEAF_MISMATCH', 'root1 and root2 are not what was hashed');
  return entry;
}

/** The content matches its hash, so these are the tags of units that it had. */
function puncturedEntry({ entry: bytes }: LogRow, content: RowContent): SoundEntry['deleted'] {
  const entry = decodeEntry(bytes);
  if (isNotice(entry.kind)) throw fault('NOTICE_INVALID', 'is a notice, and a part of it is gone');
  const what = deletedIn(content.closed)
    .flat()
    .map(({ tag }) => tag);
  return { entry, what };
}

/** The notice in one row, whose content is held against the entry; throws EvidenceError. */
export function soundNotice({ values }: WalkResources, entry: Entry, row: LogRow): Notice {
  if (row.content === undefined) throw fault('NOTICE_INVALID', 'is a notice, and its content is gone');
  values.begin(1);
  const place = values.add(row, row.content);
  values.run();
  values.require(place, row, entry.content);
  return noticeIn(entry, row.content);
}

/** The content matches its hash, so the notice is authentic. */
function noticeIn(entry: Entry, { text1, text2, seeds }: RowContent): Notice {
  const shown = openTexts(
    [canonicalText(text1), canonicalText(text2)],
    [
      saltsOf(seeds.subarray(0, SEED_BYTES), splitGroup(text1, 1).units.length),
      saltsOf(seeds.subarray(SEED_BYTES), splitGroup(text2, 2).units.length),
    ],
  );
  return readNoticeAndKeys(entry, shown);
}
