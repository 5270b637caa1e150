// Gathers the terms of one section while a segment is made: each term once, with the docs that have it and the places of
// its words. All of it lies in a few long arrays: a segment has a hundred thousand terms, and no string is made of any.

import { grown, hashOf, type WordBytes } from './word-bytes.ts';

/** Of a word that stands alone in its value: no phrase has it. */
export const NO_PLACE = -1;
const NOTHING = -1;
/** Of a table with few terms, as a small tenant's tail has; it grows. */
const CAPACITY = 64;
const SEED_PRIME = 0x9e3779b1 | 0;

/** Terms with the same beginning. No group's prefix is a prefix of another's. */
export interface TermGroup {
  readonly number: number;
  readonly prefix: Buffer;
}

/** The docs that have a term, from the lowest; good until the next one. */
export interface TermDocs {
  /** The first `count` of them. */
  readonly docs: Uint32Array;
  readonly count: number;
  /** Of all docs, one after another: the doc's place in `docs`, and the place of the word. */
  readonly placed: Int32Array;
  readonly placedLength: number;
}

export class TermTable {
  readonly #groups = new Map<string, TermGroup>();
  /** The terms without their prefixes, one after another. */
  #bytes = Buffer.allocUnsafe(16 * CAPACITY);
  #bytesEnd = 0;
  /** By the number of a term. */
  #from = new Int32Array(CAPACITY);
  #length = new Int32Array(CAPACITY);
  #group = new Int32Array(CAPACITY);
  #hash = new Int32Array(CAPACITY);
  #first = new Int32Array(CAPACITY);
  #last = new Int32Array(CAPACITY);
  #terms = 0;
  /** Numbers of terms by their hashes; a power of two, at most half full. */
  #slots = new Int32Array(4 * CAPACITY).fill(NOTHING);
  /** By the number of an occurrence: the doc, the place and the next occurrence of the same term. */
  #doc = new Int32Array(CAPACITY);
  #place = new Int32Array(CAPACITY);
  #next = new Int32Array(CAPACITY);
  #occurrences = 0;
  #docs = new Uint32Array(CAPACITY);
  #placed = new Int32Array(CAPACITY);

  group(prefix: string): TermGroup {
    let group = this.#groups.get(prefix);
    if (group === undefined) {
      group = { number: this.#groups.size, prefix: Buffer.from(prefix) };
      this.#groups.set(prefix, group);
    }
    return group;
  }

  /** The term behind the prefix is a word of these. */
  add(group: TermGroup, words: WordBytes, word: number, doc: number, place = NO_PLACE): void {
    this.addTo(this.#numberOf(group, words, word), doc, place);
  }

  /** Of a term whose number is known: one that was added before. */
  addTo(term: number, doc: number, place = NO_PLACE): void {
    const last = this.#last[term]!;
    if (last !== NOTHING && this.#doc[last] === doc && place === NO_PLACE) return;
    const at = this.#occurrences++;
    if (at === this.#doc.length) {
      this.#doc = grown(this.#doc);
      this.#place = grown(this.#place);
      this.#next = grown(this.#next);
    }
    this.#doc[at] = doc;
    this.#place[at] = place;
    this.#next[at] = NOTHING;
    if (last === NOTHING) this.#first[term] = at;
    else this.#next[last] = at;
    this.#last[term] = at;
  }

  /** The number of the word as a term of the group, with which it can be added again. */
  numberOf(group: TermGroup, words: WordBytes, word: number): number {
    return this.#numberOf(group, words, word);
  }

  /** All terms from the lowest: the first `length` bytes, which are good for the call only. */
  visit(visitTerm: (term: Buffer, length: number, docs: TermDocs) => void): void {
    const term = Buffer.allocUnsafe(this.#longest());
    const groups = [...this.#groups.values()].sort((a, b) => a.prefix.compare(b.prefix));
    const byGroup = this.#termsByGroup();
    for (const { number, prefix } of groups) {
      prefix.copy(term);
      for (const each of this.#sorted(byGroup[number]!)) {
        // It was made beforehand, and no doc has it.
        if (this.#last[each] === NOTHING) continue;
        const from = this.#from[each]!;
        const length = this.#length[each]!;
        for (let i = 0; i < length; i++) term[prefix.length + i] = this.#bytes[from + i]!;
        visitTerm(term, prefix.length + length, this.docsOf(each));
      }
    }
  }

  /** A term by its bytes; undefined where no doc has it. */
  find(term: Buffer): number | undefined {
    for (const { number, prefix } of this.#groups.values()) {
      if (prefix.compare(term, 0, Math.min(prefix.length, term.length)) !== 0) continue;
      const found = this.#find(
        number,
        term,
        prefix.length,
        term.length,
        hashOf(term, prefix.length, term.length),
      );
      if (found !== NOTHING && this.#last[found] !== NOTHING) return found;
    }
    return undefined;
  }

  /** All terms that begin so, in no order. */
  *beginningWith(beginning: Buffer): Generator<{ readonly term: Buffer; readonly number: number }> {
    // By the number of a group: what its terms must begin with.
    const asked: ({ readonly prefix: Buffer; readonly rest: Buffer } | undefined)[] = [];
    for (const { number, prefix } of this.#groups.values()) {
      const shared = Math.min(prefix.length, beginning.length);
      if (prefix.compare(beginning, 0, shared, 0, shared) === 0)
        asked[number] = { prefix, rest: beginning.subarray(shared) };
    }
    for (let number = 0; number < this.#terms; number++) {
      const group = asked[this.#group[number]!];
      if (group === undefined || this.#last[number] === NOTHING || !this.#begins(number, group.rest))
        continue;
      const from = this.#from[number]!;
      const key = this.#bytes.subarray(from, from + this.#length[number]!);
      yield { term: Buffer.concat([group.prefix, key]), number };
    }
  }

  #begins(number: number, beginning: Buffer): boolean {
    if (this.#length[number]! < beginning.length) return false;
    const from = this.#from[number]!;
    let i = 0;
    while (i < beginning.length && this.#bytes[from + i] === beginning[i]) i++;
    return i === beginning.length;
  }

  docsOf(term: number): TermDocs {
    let count = 0;
    let placedLength = 0;
    for (let at = this.#first[term]!; at !== NOTHING; at = this.#next[at]!) {
      const doc = this.#doc[at]!;
      if (count === 0 || this.#docs[count - 1] !== doc) {
        if (count === this.#docs.length) this.#docs = new Uint32Array(grown(new Int32Array(this.#docs)));
        this.#docs[count++] = doc;
      }
      const place = this.#place[at]!;
      if (place === NO_PLACE) continue;
      if (placedLength + 2 > this.#placed.length) this.#placed = grown(this.#placed);
      this.#placed[placedLength++] = count - 1;
      this.#placed[placedLength++] = place;
    }
    return { docs: this.#docs, count, placed: this.#placed, placedLength };
  }

  #numberOf({ number: group }: TermGroup, words: WordBytes, word: number): number {
    const from = words.from[word]!;
    const end = from + words.length[word]!;
    const hash = words.hash[word]!;
    const found = this.#find(group, words.bytes, from, end, hash);
    return found === NOTHING ? this.#add(group, words.bytes, from, end, hash) : found;
  }

  #find(group: number, bytes: Uint8Array, from: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1;
    const own = this.#bytes;
    for (let slot = (hash ^ Math.imul(group, SEED_PRIME)) & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot]!;
      if (number === NOTHING) return NOTHING;
      if (this.#hash[number] !== hash || this.#group[number] !== group || this.#length[number] !== end - from)
        continue;
      let at = this.#from[number]!;
      let i = from;
      while (i < end && own[at] === bytes[i]) {
        i++;
        at++;
      }
      if (i === end) return number;
    }
  }

  #add(group: number, bytes: Uint8Array, from: number, end: number, hash: number): number {
    const number = this.#terms++;
    if (number === this.#from.length) this.#growTerms();
    if (this.#bytesEnd + end - from > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#bytes.length + end - from));
      this.#bytes.copy(larger, 0, 0, this.#bytesEnd);
      this.#bytes = larger;
    }
    this.#from[number] = this.#bytesEnd;
    this.#length[number] = end - from;
    for (let i = from; i < end; i++) this.#bytes[this.#bytesEnd++] = bytes[i]!;
    this.#group[number] = group;
    this.#hash[number] = hash;
    this.#last[number] = NOTHING;
    if (2 * this.#terms > this.#slots.length) this.#growSlots();
    else this.#put(number);
    return number;
  }

  #put(number: number): void {
    const mask = this.#slots.length - 1;
    let slot = (this.#hash[number]! ^ Math.imul(this.#group[number]!, SEED_PRIME)) & mask;
    while (this.#slots[slot] !== NOTHING) slot = (slot + 1) & mask;
    this.#slots[slot] = number;
  }

  #growSlots(): void {
    this.#slots = new Int32Array(2 * this.#slots.length).fill(NOTHING);
    for (let number = 0; number < this.#terms; number++) this.#put(number);
  }

  #growTerms(): void {
    this.#from = grown(this.#from);
    this.#length = grown(this.#length);
    this.#group = grown(this.#group);
    this.#hash = grown(this.#hash);
    this.#first = grown(this.#first);
    this.#last = grown(this.#last);
  }

  #longest(): number {
    let key = 0;
    for (let number = 0; number < this.#terms; number++) key = Math.max(key, this.#length[number]!);
    return key + Math.max(0, ...[...this.#groups.values()].map(({ prefix }) => prefix.length));
  }

  #termsByGroup(): Uint32Array[] {
    const counts = new Uint32Array(this.#groups.size);
    for (let number = 0; number < this.#terms; number++) counts[this.#group[number]!]!++;
    const byGroup = Array.from(counts, (count) => new Uint32Array(count));
    counts.fill(0);
    for (let number = 0; number < this.#terms; number++) {
      const group = this.#group[number]!;
      byGroup[group]![counts[group]!++] = number;
    }
    return byGroup;
  }

  /** Terms of one group by their bytes: first by the five that a number has room for, which is many times as fast. */
  #sorted(terms: Uint32Array): Uint32Array {
    const keys = new BigUint64Array(terms.length);
    const halves = new Uint32Array(keys.buffer);
    const own = this.#bytes;
    const byteOf = (at: number, end: number) => (at < end ? own[at]! : 0);
    for (let i = 0; i < terms.length; i++) {
      const from = this.#from[terms[i]!]!;
      const end = from + this.#length[terms[i]!]!;
      halves[2 * i + 1] =
        (byteOf(from, end) << 24) |
        (byteOf(from + 1, end) << 16) |
        (byteOf(from + 2, end) << 8) |
        byteOf(from + 3, end);
      halves[2 * i] = (byteOf(from + 4, end) << 24) | i;
    }
    keys.sort();
    const sorted = new Uint32Array(terms.length);
    for (let i = 0; i < terms.length; i++) sorted[i] = terms[halves[2 * i]! & 0xff_ffff]!;
    const isSame = (i: number) =>
      halves[2 * i + 1] === halves[2 * i - 1] && halves[2 * i]! >>> 24 === halves[2 * i - 2]! >>> 24;
    for (let i = 0; i < terms.length; ) {
      let end = i + 1;
      while (end < terms.length && isSame(end)) end++;
      if (end > i + 1) sorted.subarray(i, end).sort((a, b) => this.#compare(a, b));
      i = end;
    }
    return sorted;
  }

  #compare(a: number, b: number): number {
    const own = this.#bytes;
    let i = this.#from[a]!;
    let j = this.#from[b]!;
    const endA = i + this.#length[a]!;
    const endB = j + this.#length[b]!;
    for (; i < endA && j < endB; i++, j++) if (own[i] !== own[j]) return own[i]! - own[j]!;
    return endA - i - (endB - j);
  }
}
