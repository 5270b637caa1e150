// From what is shown of many events to their content hashes, hashing a whole pool in a handful of calls:
//
//   R_g     = H( label(r) ‖ u8 g ‖ u16 n ‖ T₁ ‖ C₁ ‖ … )    units of group g, T strictly ascending
//   content = H( label(c) ‖ R₁ ‖ R₂ )
//
// Maker and checker use the same code: the service adds open units, a verifier adds what it was given.

import { utf8, writeU16 } from '../bytes.ts';
import { LABEL_BYTES, LABEL_COMMITMENT, LABEL_CONTENT, LABEL_GROUP } from './labels.ts';
import { HashPool } from '../hash/hash-pool.ts';
import { sha256 } from '../hash/sha256.ts';
import { HASH_BYTES } from '../tree/tree.ts';
import type { EncodedEvent, EncodedGroup } from './encode-event.ts';
import { isOpen, SALT_BYTES, type ShownEvent, type ShownGroup } from './shown-event.ts';
import type { Group } from './units.ts';

const COMMITMENT_WORDS = new Int32Array(LABEL_COMMITMENT.slice().buffer);
const GROUP_WORDS = new Int32Array(LABEL_GROUP.slice().buffer);
const CONTENT_WORDS = new Int32Array(LABEL_CONTENT.slice().buffer);
/** Label, salt, padding. */
const AROUND_VALUE_BYTES_MAX = 128;
const GIVEN = -1;
const SHORT_TEXT = 48;
const encoder = new TextEncoder();

export class ContentPool {
  readonly #pool = new HashPool();
  readonly #events: (ShownEvent | EncodedEvent)[] = [];
  /** Ordinal in the hash pool of each event's first unit commitment. */
  readonly #firstUnits: number[] = [];
  /** Ordinals of the group roots, two per event; GIVEN where the root itself was shown. */
  readonly #roots: number[] = [];
  readonly #contents: number[] = [];

  get size(): number {
    return this.#events.length;
  }

  /** Takes an event in and returns its place in the pool. */
  add(shown: ShownEvent): number {
    let first = GIVEN;
    for (const group of shown) {
      if (!('units' in group)) continue;
      for (const unit of group.units) {
        if (!isOpen(unit)) continue;
        const ordinal = this.#addCommitment(unit.salt, unit.value);
        if (first === GIVEN) first = ordinal;
      }
    }
    this.#firstUnits.push(first);
    return this.#events.push(shown) - 1;
  }

  /** Takes an event in as a store has it; `salts` are those of each group, 16 bytes a unit, by ascending tag. */
  addEncoded(event: EncodedEvent, salts: readonly [Uint8Array, Uint8Array]): number {
    this.#firstUnits.push(this.#pool.count);
    for (const group of [0, 1] as const) this.#addGroup(event[group], salts[group]);
    return this.#events.push(event) - 1;
  }

  /** Hashes all that was added; only then are roots and contents there. */
  run(): void {
    const begin = this.#contents.length;
    const end = this.#events.length;
    this.#pool.run();
    for (let place = begin; place < end; place++) {
      const shown = this.#events[place]!;
      const next = this.#addGroupRoot(1, shown[0], this.#firstUnits[place]!);
      this.#addGroupRoot(2, shown[1], next);
    }
    this.#pool.run();
    for (let place = begin; place < end; place++) this.#contents.push(this.#addContent(place));
    this.#pool.run();
  }

  content(place: number): Uint8Array {
    return this.#pool.digest(this.#contents[place]!);
  }

  groupRoot(place: number, group: Group): Uint8Array {
    const shown = this.#events[place]![group - 1]!;
    return 'root' in shown ? shown.root : this.#pool.digest(this.#roots[2 * place + group - 1]!);
  }

  reset(): void {
    this.#pool.reset();
    for (const list of [this.#events, this.#firstUnits, this.#roots, this.#contents]) list.length = 0;
  }

  /** The text is put into the pool's memory once, behind the messages that are then made of its pieces. */
  #addGroup({ bytes: text, units }: EncodedGroup, salts: Uint8Array): void {
    const pool = this.#pool;
    const room = text.length + units.length * AROUND_VALUE_BYTES_MAX;
    const textAt = pool.open(room + text.length) + room;
    pool.bytes.set(text, textAt);
    let salt = 0;
    for (const { from, to } of units) {
      const length = LABEL_BYTES + SALT_BYTES + to - from;
      const start = pool.open(length);
      const bytes = pool.bytes;
      pool.writeWords(COMMITMENT_WORDS, start);
      for (let i = 0; i < SALT_BYTES; i++) bytes[start + LABEL_BYTES + i] = salts[salt + i]!;
      bytes.copyWithin(start + LABEL_BYTES + SALT_BYTES, textAt + from, textAt + to);
      pool.close(length);
      salt += SALT_BYTES;
    }
  }

  #addCommitment(salt: Uint8Array, value: string): number {
    const pool = this.#pool;
    const start = pool.open(LABEL_BYTES + SALT_BYTES + 3 * value.length);
    const bytes = pool.bytes;
    pool.writeWords(COMMITMENT_WORDS, start);
    for (let i = 0; i < SALT_BYTES; i++) bytes[start + LABEL_BYTES + i] = salt[i]!;
    const valueAt = start + LABEL_BYTES + SALT_BYTES;
    return pool.close(LABEL_BYTES + SALT_BYTES + writeText(value, bytes, valueAt));
  }

  /** Returns the ordinal of the commitment that follows this group's. */
  #addGroupRoot(group: Group, shown: ShownGroup | EncodedGroup, firstCommitment: number): number {
    if ('root' in shown) {
      this.#roots.push(GIVEN);
      return firstCommitment;
    }
    const pool = this.#pool;
    const length = LABEL_BYTES + 3 + 2 * HASH_BYTES * shown.units.length;
    let at = pool.open(length);
    const bytes = pool.bytes;
    pool.writeWords(GROUP_WORDS, at);
    bytes[at + LABEL_BYTES] = group;
    writeU16(bytes, at + LABEL_BYTES + 1, shown.units.length);
    at += LABEL_BYTES + 3;
    let ordinal = firstCommitment;
    for (const unit of shown.units) {
      pool.writeWords(unit.tag.words, at);
      if ('commitment' in unit) bytes.set(unit.commitment, at + HASH_BYTES);
      else pool.copyDigest(ordinal++, at + HASH_BYTES);
      at += 2 * HASH_BYTES;
    }
    this.#roots.push(pool.close(length));
    return ordinal;
  }

  #addContent(place: number): number {
    const pool = this.#pool;
    const start = pool.open(LABEL_BYTES + 2 * HASH_BYTES);
    const bytes = pool.bytes;
    pool.writeWords(CONTENT_WORDS, start);
    for (const group of [0, 1] as const) {
      const shown = this.#events[place]![group];
      const at = start + LABEL_BYTES + group * HASH_BYTES;
      if ('root' in shown) bytes.set(shown.root, at);
      else pool.copyDigest(this.#roots[2 * place + group]!, at);
    }
    return pool.close(LABEL_BYTES + 2 * HASH_BYTES);
  }
}

/** C of one unit, by itself: what is shown in its place when it is closed. */
export function commitmentOf(salt: Uint8Array, value: string): Uint8Array {
  return sha256(LABEL_COMMITMENT, salt, utf8(value));
}

/** The content of one event, by itself. */
export function contentOf(shown: ShownEvent): Uint8Array {
  const pool = alone(shown);
  return pool.content(0);
}

/** The root of one group, by itself. */
export function groupRootOf(group: Group, shown: ShownGroup): Uint8Array {
  const empty: ShownGroup = { units: [] };
  return alone(group === 1 ? [shown, empty] : [empty, shown]).groupRoot(0, group);
}

let single: ContentPool | undefined;

/** A pool has memory of its own, so single events share one. */
function alone(shown: ShownEvent): ContentPool {
  single ??= new ContentPool();
  single.reset();
  single.add(shown);
  single.run();
  return single;
}

/** Writes text as UTF-8 and returns its length; most values are short and ASCII, where a plain loop wins. */
function writeText(text: string, into: Uint8Array, at: number): number {
  const length = text.length;
  if (length < SHORT_TEXT) {
    let i = 0;
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) break;
      into[at + i] = code;
    }
    if (i === length) return length;
  }
  return encoder.encodeInto(text, into.subarray(at)).written;
}
