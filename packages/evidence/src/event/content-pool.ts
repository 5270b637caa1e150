// What content.ts does, for many events and fast: a whole pool is hashed in a handful of calls.

import type { ContentsOf } from './content.ts';
import { LABEL_BYTES, LABEL_COMMITMENT, LABEL_CONTENT, LABEL_GROUP } from './labels.ts';
import { HashPool } from '../hash/hash-pool.ts';
import { digestAt } from '../hash/sha256-compressor.ts';
import { HASH_BYTES } from '../tree/tree.ts';
import type { EncodedEvent, EncodedGroup } from './encode-event.ts';
import { isOpen, SALT_BYTES, type ShownEvent, type ShownUnit } from './shown-event.ts';
import type { Group, Tag } from './units.ts';

const COMMITMENT_WORDS = new Int32Array(LABEL_COMMITMENT.slice().buffer);
const GROUP_WORDS = new Int32Array(LABEL_GROUP.slice().buffer);
const CONTENT_WORDS = new Int32Array(LABEL_CONTENT.slice().buffer);

/** Label, group, number of units; then tag and commitment of each. */
const GROUP_HEAD_BYTES = LABEL_BYTES + 3;
const GROUP_UNIT_BYTES = 2 * HASH_BYTES;

/** Each event has a slot: the content's message, into which its group roots are hashed, and behind it its hash. */
const CONTENT_BYTES = LABEL_BYTES + 2 * HASH_BYTES;
const CONTENT_AT = 128;
const SLOT_BYTES = CONTENT_AT + HASH_BYTES;

/** Events are hashed in lots: enough of them to find others of their length, few enough to stay in cache. */
const LOT_EVENTS = 64;
const LOT_BYTES_MAX = 512 * 1024;
const DONE_BYTES_RETAINED_MAX = 1024 * 1024;

const SHORT_TEXT = 48;
const encoder = new TextEncoder();

const GROUPS = [1, 2] as const;

interface Tagged {
  units: readonly { tag: Tag }[] | undefined;
  at: number;
}

export class ContentPool {
  readonly #pool = new HashPool();
  /** The slots of all events that are hashed. */
  #done = new Uint8Array(LOT_EVENTS * SLOT_BYTES);
  #doneCount = 0;
  // The lot that is being filled: how many events it has, where their slots begin, and for each of their groups
  // where its message is and how long; no length where the root itself was shown.
  #lotCount = 0;
  #slotsAt = 0;
  readonly #rootAt = new Int32Array(2 * LOT_EVENTS);
  readonly #rootBytes = new Int32Array(2 * LOT_EVENTS);
  /** By group, the units whose tags were written last in this lot, and where. */
  readonly #tagged: [Tagged, Tagged] = [
    { units: undefined, at: 0 },
    { units: undefined, at: 0 },
  ];

  get size(): number {
    return this.#doneCount + this.#lotCount;
  }

  /** Takes an event in and returns its place in the pool. */
  add(shown: ShownEvent): number {
    const slot = this.#openSlot();
    for (const group of GROUPS) {
      const part = shown[group - 1]!;
      if ('units' in part) this.#addShownGroup(group, part.units);
      else {
        this.#rootBytes[2 * this.#lotCount + group - 1] = 0;
        this.#pool.bytes.set(part.root, slot + rootOffset(group));
      }
    }
    return this.#closeSlot();
  }

  /** Takes an event in as a store has it; `salts` are those of each group, 16 bytes a unit, by ascending tag. */
  addEncoded(event: EncodedEvent, salts: readonly [Uint8Array, Uint8Array]): number {
    this.#openSlot();
    for (const group of GROUPS) this.#addEncodedGroup(group, event[group - 1]!, salts[group - 1]!);
    return this.#closeSlot();
  }

  /** Hashes all that was added; only then are roots and contents there. */
  run(): void {
    if (this.#lotCount > 0) this.#hashLot();
  }

  content(place: number): Uint8Array {
    return digestAt(this.#done, this.#slotOf(place) + CONTENT_AT);
  }

  groupRoot(place: number, group: Group): Uint8Array {
    return digestAt(this.#done, this.#slotOf(place) + rootOffset(group));
  }

  /** The same into an existing buffer, for callers that read many. */
  copyContent(place: number, into: Uint8Array, at: number): void {
    copyDigest(this.#done, this.#slotOf(place) + CONTENT_AT, into, at);
  }

  copyGroupRoot(place: number, group: Group, into: Uint8Array, at: number): void {
    copyDigest(this.#done, this.#slotOf(place) + rootOffset(group), into, at);
  }

  reset(): void {
    this.#pool.reset();
    this.#lotCount = 0;
    this.#doneCount = 0;
    if (this.#done.length > DONE_BYTES_RETAINED_MAX) this.#done = new Uint8Array(LOT_EVENTS * SLOT_BYTES);
  }

  /** Where in #done an event's slot is; refused before a run, so that zeros never pass for a hash. */
  #slotOf(place: number): number {
    if (place >= 0 && place < this.#doneCount) return place * SLOT_BYTES;
    throw new RangeError(`event ${place} is not hashed; ${this.#doneCount} are`);
  }

  #openSlot(): number {
    if (this.#lotCount === LOT_EVENTS || this.#pool.bytesUsed > LOT_BYTES_MAX) this.#hashLot();
    if (this.#lotCount === 0) {
      this.#pool.reset();
      this.#slotsAt = this.#pool.room(LOT_EVENTS * SLOT_BYTES);
      for (const tagged of this.#tagged) tagged.units = undefined;
    }
    return this.#slotsAt + this.#lotCount * SLOT_BYTES;
  }

  #closeSlot(): number {
    this.#lotCount++;
    return this.size - 1;
  }

  #addShownGroup(group: Group, units: readonly ShownUnit[]): void {
    const pool = this.#pool;
    let at = this.#openGroup(group, units.length);
    this.#writeTags(group, units, at);
    for (const unit of units) {
      if (isOpen(unit)) this.#addCommitment(unit.salt, unit.value, at + HASH_BYTES);
      else pool.bytes.set(unit.commitment, at + HASH_BYTES);
      at += GROUP_UNIT_BYTES;
    }
  }

  /** Writes the tags of a group's message: those of the event before, in one piece, where they are the same. */
  #writeTags(group: Group, units: readonly { tag: Tag }[], at: number): void {
    const pool = this.#pool;
    const before = this.#tagged[group - 1]!;
    if (before.units !== undefined && haveSameTags(before.units, units)) {
      pool.bytes.copyWithin(at, before.at, before.at + GROUP_UNIT_BYTES * units.length);
    } else
      for (let i = 0; i < units.length; i++) pool.writeWords(units[i]!.tag.words, at + GROUP_UNIT_BYTES * i);
    before.units = units;
    before.at = at;
  }

  /** Salts and text are put into the pool's memory once; the messages are then made of their pieces. */
  #addEncodedGroup(group: Group, { bytes: text, units }: EncodedGroup, salts: Uint8Array): void {
    const pool = this.#pool;
    let at = this.#openGroup(group, units.length);
    let saltAt = pool.room(salts.length + text.length);
    const textAt = saltAt + salts.length;
    pool.bytes.set(salts, saltAt);
    pool.bytes.set(text, textAt);
    this.#writeTags(group, units, at);
    for (const { from, to } of units) {
      const length = LABEL_BYTES + SALT_BYTES + to - from;
      const start = pool.room(length);
      pool.writeWords(COMMITMENT_WORDS, start);
      pool.moveWords(saltAt, start + LABEL_BYTES, SALT_BYTES / 4);
      pool.bytes.copyWithin(start + LABEL_BYTES + SALT_BYTES, textAt + from, textAt + to);
      pool.hash(start, length, at + HASH_BYTES);
      at += GROUP_UNIT_BYTES;
      saltAt += SALT_BYTES;
    }
  }

  /** Begins the message of a group root; returns where its first tag goes. */
  #openGroup(group: Group, count: number): number {
    const pool = this.#pool;
    const length = GROUP_HEAD_BYTES + GROUP_UNIT_BYTES * count;
    const at = pool.room(length);
    pool.writeWords(GROUP_WORDS, at);
    pool.bytes[at + LABEL_BYTES] = group;
    pool.bytes[at + LABEL_BYTES + 1] = count >>> 8;
    pool.bytes[at + LABEL_BYTES + 2] = count;
    const root = 2 * this.#lotCount + group - 1;
    this.#rootAt[root] = at;
    this.#rootBytes[root] = length;
    return at + GROUP_HEAD_BYTES;
  }

  #addCommitment(salt: Uint8Array, value: string, to: number): void {
    const pool = this.#pool;
    const start = pool.room(LABEL_BYTES + SALT_BYTES + 3 * value.length);
    const bytes = pool.bytes;
    pool.writeWords(COMMITMENT_WORDS, start);
    for (let i = 0; i < SALT_BYTES; i++) bytes[start + LABEL_BYTES + i] = salt[i]!;
    const written = writeText(value, bytes, start + LABEL_BYTES + SALT_BYTES);
    pool.hash(start, LABEL_BYTES + SALT_BYTES + written, to);
  }

  /** All units are there: from commitments to group roots, from those to contents. */
  #hashLot(): void {
    const pool = this.#pool;
    pool.run();
    for (let root = 0; root < 2 * this.#lotCount; root++) {
      const slot = this.#slotsAt + (root >>> 1) * SLOT_BYTES;
      const length = this.#rootBytes[root]!;
      if (length > 0) pool.hash(this.#rootAt[root]!, length, slot + LABEL_BYTES + (root & 1) * HASH_BYTES);
    }
    pool.run();
    for (let place = 0; place < this.#lotCount; place++) {
      const slot = this.#slotsAt + place * SLOT_BYTES;
      pool.writeWords(CONTENT_WORDS, slot);
      pool.hash(slot, CONTENT_BYTES, slot + CONTENT_AT);
    }
    pool.run();
    this.#keepLot();
  }

  #keepLot(): void {
    const from = this.#doneCount * SLOT_BYTES;
    const bytes = this.#lotCount * SLOT_BYTES;
    if (from + bytes > this.#done.length) {
      const before = this.#done;
      this.#done = new Uint8Array(2 * (from + bytes));
      this.#done.set(before);
    }
    this.#done.set(this.#pool.bytes.subarray(this.#slotsAt, this.#slotsAt + bytes), from);
    this.#doneCount += this.#lotCount;
    this.#lotCount = 0;
  }
}

/** For so few bytes a loop is faster than set() and the view that it needs. */
function copyDigest(from: Uint8Array, fromAt: number, into: Uint8Array, at: number): void {
  for (let i = 0; i < HASH_BYTES; i++) into[at + i] = from[fromAt + i]!;
}

/** Where in a slot a group's root is. */
function rootOffset(group: Group): number {
  return LABEL_BYTES + (group - 1) * HASH_BYTES;
}

/** Tags are cached, so that the same tag is the same object nearly always; where it is not, only time is lost. */
function haveSameTags(a: readonly { tag: Tag }[], b: readonly { tag: Tag }[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i]!.tag !== b[i]!.tag) return false;
  return true;
}

let shared: ContentPool | undefined;

/** The contents of many events, hashed together. */
export const pooledContentsOf: ContentsOf = (events) => {
  shared ??= new ContentPool();
  shared.reset();
  for (const shown of events) shared.add(shown);
  shared.run();
  return events.map((_, place) => shared!.content(place));
};

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
