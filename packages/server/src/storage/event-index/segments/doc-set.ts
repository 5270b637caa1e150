// Sets of the docs of one segment, as a sorted list where they are few and as bits where they are many. None is ever changed
// once it is made.

const WORD_BITS = 32;
/** A list is longer than the bits would be. */
const DENSE = 32;

export class DocSet {
  /** Of the segment: docs are from 0 to before it. */
  readonly docs: number;
  readonly count: number;
  readonly #list: Uint32Array | undefined;
  readonly #bits: Uint32Array | undefined;
  /** Of a list, once they were needed. */
  #bitsOfList: Uint32Array | undefined;

  private constructor(
    docs: number,
    count: number,
    list: Uint32Array | undefined,
    bits: Uint32Array | undefined,
  ) {
    this.docs = docs;
    this.count = count;
    this.#list = list;
    this.#bits = bits;
  }

  static none(docs: number): DocSet {
    return new DocSet(docs, 0, new Uint32Array(0), undefined);
  }

  static all(docs: number): DocSet {
    const bits = bitsFor(docs).fill(0xffff_ffff);
    const beyond = docs % WORD_BITS;
    if (beyond !== 0) bits[bits.length - 1] = 2 ** beyond - 1;
    return new DocSet(docs, docs, undefined, bits);
  }

  /** From the lowest. The list is the set's from now on. */
  static ofList(docs: number, list: Uint32Array): DocSet {
    if (list.length * DENSE <= docs) return new DocSet(docs, list.length, list, undefined);
    return new DocSet(docs, list.length, undefined, bitsOf(docs, list));
  }

  /** The bits are the set's from now on. */
  static ofBits(docs: number, bits: Uint32Array): DocSet {
    const count = bitCount(bits);
    return count * DENSE <= docs
      ? new DocSet(docs, count, listIn(bits, count), undefined)
      : new DocSet(docs, count, undefined, bits);
  }

  has(doc: number): boolean {
    if (this.#bits !== undefined) return (this.#bits[doc >>> 5]! & (1 << (doc & 31))) !== 0;
    const list = this.#list!;
    return list[lowerBound(list, doc)] === doc;
  }

  /** Of these docs the ones that are in the set, in the order in which they come. */
  among(docs: Uint32Array): Uint32Array {
    const bits = this.#asBits();
    const found = new Uint32Array(docs.length);
    let count = 0;
    for (let i = 0; i < docs.length; i++) {
      const doc = docs[i]!;
      if ((bits[doc >>> 5]! & (1 << (doc & 31))) !== 0) found[count++] = doc;
    }
    return found.subarray(0, count);
  }

  /** The numbers of the blocks, of so many docs each, that have any of them. `docs` is a multiple of 32. */
  blocks(docs: number): number[] {
    const bits = this.#asBits();
    const words = docs / WORD_BITS;
    const numbers: number[] = [];
    for (let number = 0; number * words < bits.length; number++) {
      const end = Math.min(bits.length, (number + 1) * words);
      let at = number * words;
      while (at < end && bits[at] === 0) at++;
      if (at < end) numbers.push(number);
    }
    return numbers;
  }

  /** The docs of one such block, which has as many as `into` has room for, each by its place there; gives how many. */
  inBlock(number: number, into: Uint16Array): number {
    const bits = this.#asBits();
    const first = (number * into.length) / WORD_BITS;
    const end = Math.min(bits.length, first + into.length / WORD_BITS);
    let count = 0;
    for (let i = first; i < end; i++) {
      const before = (i - first) * WORD_BITS;
      for (let word = bits[i]!; word !== 0; word &= word - 1)
        into[count++] = before + 31 - Math.clz32(word & -word);
    }
    return count;
  }

  /** From the lowest. */
  list(): Uint32Array {
    return this.#list ?? listIn(this.#bits!, this.count);
  }

  and(other: DocSet): DocSet {
    if (this.count === this.docs) return other;
    if (other.count === other.docs) return this;
    if (this.#list !== undefined) return this.#filtered(this.#list, (doc) => other.has(doc));
    if (other.#list !== undefined) return this.#filtered(other.#list, (doc) => this.has(doc));
    return this.#combined(other, (a, b) => a & b);
  }

  or(other: DocSet): DocSet {
    if (this.count === 0 || other.count === other.docs) return other;
    if (other.count === 0 || this.count === this.docs) return this;
    return this.#combined(other, (a, b) => a | b);
  }

  minus(other: DocSet): DocSet {
    if (this.count === 0 || other.count === 0) return this;
    if (this.#list !== undefined) return this.#filtered(this.#list, (doc) => !other.has(doc));
    return this.#combined(other, (a, b) => a & ~b);
  }

  not(): DocSet {
    return DocSet.all(this.docs).minus(this);
  }

  #filtered(list: Uint32Array, keeps: (doc: number) => boolean): DocSet {
    return DocSet.ofList(this.docs, list.filter(keeps));
  }

  #combined(other: DocSet, combine: (a: number, b: number) => number): DocSet {
    const [own, theirs] = [this.#asBits(), other.#asBits()];
    const bits = bitsFor(this.docs);
    for (let i = 0; i < bits.length; i++) bits[i] = combine(own[i]!, theirs[i]!);
    return DocSet.ofBits(this.docs, bits);
  }

  #asBits(): Uint32Array {
    return this.#bits ?? (this.#bitsOfList ??= bitsOf(this.docs, this.#list!));
  }
}

/** Gathers the docs of many terms. */
export class DocSetBuilder {
  readonly #docs: number;
  readonly #bits: Uint32Array;

  constructor(docs: number) {
    this.#docs = docs;
    this.#bits = bitsFor(docs);
  }

  add(doc: number): void {
    this.#bits[doc >>> 5]! |= 1 << (doc & 31);
  }

  addRange(from: number, end: number): void {
    for (let doc = from; doc < end; doc++) this.add(doc);
  }

  addSet(set: DocSet): void {
    for (const doc of set.list()) this.add(doc);
  }

  take(): DocSet {
    return DocSet.ofBits(this.#docs, this.#bits);
  }
}

function bitsFor(docs: number): Uint32Array {
  return new Uint32Array(Math.ceil(docs / WORD_BITS));
}

function bitsOf(docs: number, list: Uint32Array): Uint32Array {
  const bits = bitsFor(docs);
  for (let i = 0; i < list.length; i++) bits[list[i]! >>> 5]! |= 1 << (list[i]! & 31);
  return bits;
}

function bitCount(words: Uint32Array): number {
  let count = 0;
  for (let i = 0; i < words.length; i++) {
    let word = words[i]!;
    word -= (word >>> 1) & 0x5555_5555;
    word = (word & 0x3333_3333) + ((word >>> 2) & 0x3333_3333);
    count += Math.imul((word + (word >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
  }
  return count;
}

function listIn(words: Uint32Array, count: number): Uint32Array {
  const list = new Uint32Array(count);
  let at = 0;
  for (let i = 0; i < words.length; i++) {
    for (let word = words[i]!; word !== 0; word &= word - 1)
      list[at++] = i * WORD_BITS + 31 - Math.clz32(word & -word);
  }
  return list;
}

/** The place of the first that is not below. */
export function lowerBound(
  sorted: { readonly [place: number]: number; readonly length: number },
  value: number,
): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
